// Shows the progress of an import, and reloads the page when it has ended.

const PAUSE_MS = 1000;
const PAUSE_MAX_MS = 30_000;

async function follow(progress) {
  for (let pause = PAUSE_MS; ; ) {
    await new Promise(resolve => setTimeout(resolve, pause));
    const response = await fetch(location.pathname).catch(() => undefined);
    if (!response?.ok) {
      pause = Math.min(2 * pause, PAUSE_MAX_MS);
      continue;
    }
    pause = PAUSE_MS;
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const now = page.querySelector('#progress[data-running]');
    if (!now) return location.replace(location.pathname);
    progress.replaceChildren(...now.childNodes);
  }
}

const progress = document.querySelector('#progress[data-running]');
if (progress) follow(progress);
