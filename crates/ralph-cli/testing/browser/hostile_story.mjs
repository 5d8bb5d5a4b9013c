// Markup in a prompt, in the output of an agent, and in a file name stays text.
import { check, tell } from "./browser.mjs";

await tell(async ({ page, base }) => {
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    return dialog.dismiss();
  });
  for (const path of process.env.PATHS.split(" ")) {
    await page.goto(`${base}${path}`);
    for (const details of await page.locator("details").all()) await details.evaluate((element) => (element.open = true));
    check((await page.locator("img, script:not([src])").count()) === 0, `${path} has markup of the agent`);
    const text = await page.locator("main").innerText();
    check(text.includes("<img src=x onerror=alert(1)>"), `${path} does not show the text: ${text}`);
  }
  check(dialogs === 0, "a script of the agent ran");
});
