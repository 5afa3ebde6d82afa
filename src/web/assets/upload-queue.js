// Uploads photos one after another, and shows the progress of each.

export class UploadQueue {
  isBusy = false;
  #waiting = [];

  /**
   * @param options `action`: the address that takes a photo; `token`: that of the form; `bytesMax`: the largest file;
   *   `place`: where the progress appears; `added(tags)`: called for each photo; `ended(count)`: called after the last
   */
  constructor(options) {
    this.options = options;
    this.list = document.createElement('ul');
    this.status = document.createElement('p');
    this.list.className = 'uploads';
    this.status.setAttribute('role', 'status');
    options.place.append(this.list, this.status);
    addEventListener('beforeunload', event => this.isBusy && event.preventDefault());
  }

  /** @param done called when the file was sent, whether or not it was added */
  add(files, done = () => {}) {
    for (const file of files) this.#waiting.push({ file, done, ...this.#row(file) });
    if (!this.isBusy && this.#waiting.length > 0) this.#run();
  }

  /** Adds a line for a file. Names are set as text, because they may contain markup. */
  #row({ name }) {
    const item = document.createElement('li');
    const title = document.createElement('span');
    const bar = document.createElement('progress');
    const text = document.createElement('span');
    title.textContent = name;
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute('aria-label', `Progress of ${name}`);
    text.textContent = 'Waiting';
    item.append(title, bar, text);
    this.list.append(item);
    return { bar, text };
  }

  async #run() {
    this.isBusy = true;
    let added = 0;
    let failed = 0;
    for (let upload = this.#waiting.shift(); upload; upload = this.#waiting.shift()) {
      this.status.textContent = `Uploading ${upload.file.name}; ${this.#waiting.length} more to go.`;
      upload.text.textContent = 'Uploading';
      const error = await this.#send(upload);
      upload.bar.remove();
      if (error === undefined) added++;
      else {
        failed++;
        upload.text.className = 'error';
        upload.text.setAttribute('role', 'alert');
      }
      upload.text.textContent = error ?? 'Added';
      await upload.done();
    }
    this.isBusy = false;
    if (added > 0) await this.options.ended?.();
    this.status.textContent = `Photos added: ${added}.${failed > 0 ? ` Not added: ${failed}.` : ''}`;
  }

  /** Sends one file. Returns the error if it was not added. */
  #send({ file, bar, text }) {
    const { action, token, bytesMax, added } = this.options;
    if (file.size > bytesMax) return `The file is larger than ${bytesMax / 1024 / 1024} MiB.`;
    const body = new FormData();
    // The file must be last: the server reads the form as it arrives.
    body.append('token', token);
    body.append('photo', file);
    const request = new XMLHttpRequest();
    request.open('POST', action);
    request.setRequestHeader('Accept', 'application/json');
    request.responseType = 'json';
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      bar.value = loaded / total;
      if (loaded === total) text.textContent = 'Making the sizes';
    });
    return new Promise(resolve => {
      request.addEventListener('error', () => resolve('The connection was lost. Choose the file again.'));
      request.addEventListener('load', () => {
        const { etag, message = 'The server did not accept it. Reload this page and choose the file again.' } =
          request.response ?? {};
        if (etag !== undefined) added?.(request.response);
        resolve(etag === undefined ? message : undefined);
      });
      request.send(body);
    });
  }
}

/** Calls `take` with the files that are dropped on a place. Files beside it would otherwise replace the page. */
export function onDrop(place, take) {
  for (const type of ['dragover', 'drop']) {
    addEventListener(type, event => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      const isOver = place.contains(event.target);
      place.classList.toggle('over', type === 'dragover' && isOver);
      if (type === 'drop' && isOver) take([...event.dataTransfer.files]);
    });
  }
  addEventListener('dragleave', ({ relatedTarget }) => relatedTarget ?? place.classList.remove('over'));
}

/** Returns a button that opens a choice of files. @param take called with them */
export function filePicker(text, attributes, take) {
  const label = document.createElement('label');
  const input = document.createElement('input');
  label.className = 'button secondary';
  input.type = 'file';
  // Browsers of desks have no property `capture`.
  for (const [name, value] of Object.entries(attributes)) input.setAttribute(name, value);
  label.append(text, input);
  input.addEventListener('change', () => {
    take([...input.files]);
    input.value = '';
  });
  return label;
}

/** Returns the buttons that choose photos, and on phones the one that takes a photo. @param types the media types */
export function photoPickers(text, types, take) {
  const buttons = document.createElement('div');
  const camera = filePicker('Take a photo', { accept: 'image/*', capture: 'environment' }, take);
  camera.classList.add('camera');
  buttons.className = 'pick';
  buttons.append(filePicker(text, { accept: types, multiple: '' }, take), camera);
  return buttons;
}
