// Reads the keys, goes to the runs, opens one and starts another: with the keyboard alone.
import { check, tell } from "./browser.mjs";

const MAX_TAB_STOPS = 60;

await tell(async ({ page, base }) => {
  const tabTo = async (selector) => {
    for (let stop = 0; stop < MAX_TAB_STOPS; stop += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    }
    check(false, `Tab does not reach ${selector}`);
  };
  await page.goto(`${base}/`);
  await page.keyboard.press("?");
  await page.locator("dialog[open]", { hasText: "next and previous row" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog:not([open])").waitFor({ state: "attached" });
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.waitForURL(/\/runs$/);
  await page.keyboard.press("/");
  await page.keyboard.type("exhausted");
  await page.keyboard.press("Escape");
  check((await page.locator("[data-row]:visible").count()) === 1, "the filter shows other rows");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/[^/]+$/);
  await page.locator("#decision", { hasText: "iteration limit" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await page.waitForURL(/\/start$/);
  await tabTo("#prompt");
  await page.keyboard.type("leave a note");
  await tabTo("#checks");
  await page.keyboard.type("true");
  await tabTo("#agent");
  await page.keyboard.type("demo");
  await tabTo("#start-run button.primary");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/[^/]+$/);
  await page.locator("#head .status", { hasText: "completed" }).waitFor();
});
