// Starts Chromium for one story, and ends it. A story fails on any error that the page writes to the console.
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const TIMEOUT_MS = 60_000;

const packages = createRequire(join(process.env.RALPH_TEST_BROWSER, "package.json"));
const { chromium } = packages("playwright-core");

export function check(condition, message) {
  if (!condition) throw new Error(message);
}

// Opens a page, logs it in if there is a login address, and runs the story.
export async function tell(story, options = {}) {
  const profile = await mkdtemp(join(tmpdir(), "browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.RALPH_TEST_CHROMIUM,
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = context.pages()[0] ?? (await context.newPage());
  const errors = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  try {
    if (process.env.LOGIN_URL) await page.goto(process.env.LOGIN_URL);
    await story({ page, base: process.env.BASE_URL, errors });
    check(errors.length === 0, `the page reported errors: ${errors.join("; ")}`);
  } finally {
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
    await context.close();
    await rm(profile, { recursive: true, force: true });
  }
}
