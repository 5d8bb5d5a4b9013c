// Every page fits the width of a phone, and no page reports an error.
import { check, tell } from "./browser.mjs";

const viewport = { width: 390, height: 844 };

await tell(
  async ({ page, base }) => {
    for (const path of process.env.PATHS.split(" ")) {
      const answer = await page.goto(`${base}${path}`);
      check(answer.status() === 200, `${path} has status ${answer.status()}`);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      check(width <= viewport.width, `${path} is ${width} pixels wide`);
    }
  },
  { viewport },
);
