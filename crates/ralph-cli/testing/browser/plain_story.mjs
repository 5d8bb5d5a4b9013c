// Every page can be read without JavaScript, and shows nothing that does nothing.
import { check, tell } from "./browser.mjs";

await tell(
  async ({ page, base }) => {
    for (const path of process.env.PATHS.split(" ")) {
      const answer = await page.goto(`${base}${path}`);
      check(answer.status() === 200, `${path} has status ${answer.status()}`);
      const text = await page.locator("main").innerText();
      check(text.includes("Waits for you"), `${path} has no summary: ${text}`);
      check((await page.locator("button:visible[data-post], form:visible[data-post]").count()) === 0, `${path} has dead buttons`);
      check((await page.locator("#connection:visible").count()) === 0, `${path} claims to be live`);
    }
  },
  { javaScriptEnabled: false },
);
