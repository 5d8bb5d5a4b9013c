// Cancels a run on its page.
import { tell } from "./browser.mjs";

await tell(async ({ page, base }) => {
  page.on("dialog", (dialog) => dialog.accept());
  await page.goto(`${base}/`);
  await page.locator("#running .item").waitFor();
  await page.locator("#running").getByRole("button", { name: "Cancel" }).click();
  await page.locator("#ended .status", { hasText: "cancelled" }).waitFor();
  await page.locator("#running", { hasText: "Nothing runs." }).waitFor();
});
