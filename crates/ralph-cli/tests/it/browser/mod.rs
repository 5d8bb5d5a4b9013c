//! The dashboard in a real browser: Chromium, driven by the scripts of `testing/browser`, with the real server.
mod browser_stories;
mod browser_story;
