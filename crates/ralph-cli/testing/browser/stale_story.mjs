// A page whose server has ended says so and since when, and becomes live again with the next server.
import { check, tell } from "./browser.mjs";
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await tell(async ({ page, base, errors }) => {
  await page.goto(`${base}/`);
  await page.locator("#connection", { hasText: /^live$/ }).waitFor();
  console.log("live");
  await lines.next();
  await page.locator("#connection", { hasText: /not live: last seen \d+s ago/ }).waitFor();
  check(await page.locator("body.stale").isVisible(), "the page does not look stale");
  console.log("stale");
  await lines.next();
  await page.locator("#connection", { hasText: /^live$/ }).waitFor();
  // The browser reports requests to a server that is gone.
  errors.length = 0;
});
process.exit(0);
