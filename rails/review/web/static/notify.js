// A notification of the system when a question waits, for who has asked for it; only while nobody looks at this window.

const button = document.getElementById("notify");
let last = 0;

const wanted = () => localStorage.getItem("notify") === "yes" && window.Notification?.permission === "granted";

function draw() {
  button.hidden = !window.Notification;
  button.setAttribute("aria-pressed", String(wanted()));
}

button.addEventListener("click", async () => {
  const on = !wanted() && (await Notification.requestPermission()) === "granted";
  localStorage.setItem("notify", on ? "yes" : "no");
  draw();
});

function tell(tag) {
  if (!wanted() || document.hasFocus()) return;
  // Nothing of what an agent wrote: a notification stands outside the page.
  const note = new Notification("AI-Rails is waiting for you", { body: "A question needs your answer.", tag });
  note.onclick = () => window.focus();
}

export function asked(session) {
  tell(session);
}

export function waiting(count) {
  if (count > last) tell("waiting");
  last = count;
}

draw();
