// Approves the gate of a workflow on its page, and watches the workflow finish.
import { check, tell } from "./browser.mjs";

await tell(async ({ page, base }) => {
  await page.goto(`${base}/workflows/${process.env.WORKFLOW}`);
  await page.fill("#message", "release 1.0");
  await page.click("#start button.primary");
  await page.waitForURL(/\/workflow-runs\/[^/]+$/);
  await page.getByRole("button", { name: "Approve" }).first().click();
  await page.locator("#head .status", { hasText: "completed" }).waitFor();
  await page.locator("#node-release .status", { hasText: "completed" }).waitFor();
  const path = await page.locator("#graph").textContent();
  check(/critical path: classify \(.*\) → gate \(.*\) → release/.test(path), `the critical path is missing: ${path}`);
  check((await page.locator("#graph path.edge.critical").count()) >= 2, "the critical path is not drawn");
  await page.locator("#timeline", { hasText: "waits for a person" }).waitFor();
  await page.locator("#node-hotfix", { hasText: "was \"minor\"" }).waitFor();
});
