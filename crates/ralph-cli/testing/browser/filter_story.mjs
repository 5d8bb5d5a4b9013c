// Filters the tasks, and keeps the filter when the page changes.
import { createInterface } from "node:readline";
import { check, tell } from "./browser.mjs";

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await tell(async ({ page, base }) => {
  await page.goto(`${base}/tasks`);
  await page.locator("#connection[data-state=live]").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("kept");
  await page.keyboard.press("Escape");
  check((await page.inputValue("[data-filter]")) === "kept", "Escape clears the filter");
  const visible = () => page.locator("#tasks tbody tr:visible").allInnerTexts();
  check((await visible()).length === 1, "the filter shows other rows");
  console.log("filtered");
  await input.next();
  // The test has created tasks: one that matches, and one that does not.
  await page.locator("#tasks", { hasText: "4 of 4 tasks" }).waitFor();
  const rows = await visible();
  check(rows.length === 2, `after the refresh there are ${rows.length} rows: ${rows.join("; ")}`);
  check(rows.every((row) => row.includes("kept")), `the filter is lost: ${rows.join("; ")}`);
  const count = await page.locator("[data-filter-count]").textContent();
  check(count === "2 shown", `the count is ${count}`);
  check((await page.inputValue("[data-filter]")) === "kept", "the words of the filter are lost");
});
process.exit(0);
