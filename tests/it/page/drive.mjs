// Drives Chromium over its pipe, without any package: opens pages, presses keys, takes pictures and runs axe-core.
// It reads one command a line as JSON from standard input, and writes one answer a line.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { writeFileSync } from "node:fs";

const [program, profile] = process.argv.slice(2);
const chromium = spawn(program, [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--hide-scrollbars", "--host-resolver-rules=MAP evil.example 127.0.0.1", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });

let number = 0, rest = "", session;
const waiting = new Map(), complaints = [], requests = new Map();
let transferred = 0, loaded = () => {};
chromium.stdio[4].on("data", (bytes) => {
  const messages = (rest + bytes).split("\0");
  rest = messages.pop();
  for (const message of messages.map(JSON.parse)) {
    if (message.id) {
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message)); else resolve(message.result);
    } else if (message.method === "Page.loadEventFired") loaded();
    else if (message.method === "Network.loadingFinished") transferred += message.params.encodedDataLength;
    else if (message.method === "Runtime.exceptionThrown") complaints.push(message.params.exceptionDetails.text);
    else if (message.method === "Log.entryAdded") complaints.push(`${message.params.entry.level}: ${message.params.entry.text}`);
  }
});
const send = (method, params = {}) => new Promise((resolve, reject) => {
  waiting.set(++number, { resolve, reject });
  chromium.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId: session }) + "\0");
});
const evaluate = async (expression) => {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
};
const arrives = (act) => new Promise((resolve, reject) => {
  const timer = setTimeout(() => reject(new Error("no page was loaded")), 20000);
  loaded = () => { clearTimeout(timer); resolve(); };
  act().catch(reject);
});
const KEYS = { Enter: ["Enter", 13, "\r"], Tab: ["Tab", 9, "\t"], " ": ["Space", 32, " "], Escape: ["Escape", 27] };

const commands = {
  // Opens an address in a language, a theme and a width, with or without scripts.
  async open({ address, width = 1440, height = 900, theme = "light", language = "en", scripts = true }) {
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await send("Emulation.setEmulatedMedia", { features: [
      { name: "prefers-color-scheme", value: theme }, { name: "prefers-reduced-motion", value: "reduce" },
    ] });
    await send("Emulation.setScriptExecutionDisabled", { value: !scripts });
    await send("Network.setExtraHTTPHeaders", { headers: { "Accept-Language": language } });
    transferred = 0;
    complaints.length = 0;
    const begun = performance.now();
    await arrives(() => send("Page.navigate", { url: address }));
    return { milliseconds: performance.now() - begun, bytes: transferred, complaints: [...complaints] };
  },
  evaluate: ({ script }) => evaluate(script),
  // Presses a key, and waits for the page that it leads to if there is to be one.
  async press({ key, leads = false, shift = false }) {
    const [code, number, text] = KEYS[key] ?? [`Key${key.toUpperCase()}`, key.toUpperCase().charCodeAt(0), key];
    const act = async () => {
      const event = { key: key === " " ? " " : KEYS[key] ? code : key, code, windowsVirtualKeyCode: number, modifiers: shift ? 8 : 0 };
      await send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", text, ...event });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    };
    await (leads ? arrives(act) : act());
  },
  type: ({ text }) => send("Input.insertText", { text }),
  // Presses the mouse in the middle of the element.
  async click({ selector, leads = false }) {
    const place = await evaluate(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: "center" });
      const box = element.getBoundingClientRect();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    })()`);
    const act = async () => {
      for (const type of ["mousePressed", "mouseReleased"])
        await send("Input.dispatchMouseEvent", { type, ...place, button: "left", clickCount: 1 });
    };
    await (leads ? arrives(act) : act());
  },
  async picture({ file, whole = true }) {
    const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole });
    writeFileSync(file, Buffer.from(data, "base64"));
  },
  // Returns the findings of axe-core that are serious or worse.
  async axe({ source }) {
    await evaluate(source);
    return evaluate(`axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations
      .filter((one) => ["serious", "critical"].includes(one.impact))
      .map((one) => one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html).join(" | ")))`);
  },
};

const { targetInfos } = await send("Target.getTargets");
const { targetId } = targetInfos.find((target) => target.type === "page");
({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
for (const domain of ["Page", "Runtime", "Network", "Log"]) await send(`${domain}.enable`);
for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...options } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ answer: (await commands[command](options)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error.message ?? error) }));
  }
}
chromium.kill();
process.exit(0);
