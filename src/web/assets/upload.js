// Uploads several chosen or dropped photos one after another, and shows the progress of each.

function enhance(form) {
  const input = form.querySelector('input[type="file"]');
  const label = form.querySelector('label');
  const list = document.createElement('ul');
  const status = document.createElement('p');
  list.className = 'uploads';
  status.setAttribute('role', 'status');
  input.multiple = true;
  label.textContent = 'Add photos: choose files, or drop them here';
  form.querySelector('button').remove();
  form.classList.add('drop');
  form.append(list, status);
  const queue = new Queue(form, list, status);

  input.addEventListener('change', () => {
    queue.add([...input.files]);
    input.value = '';
  });
  const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files');
  // A file dropped beside the form would otherwise replace the page, and discard all entries.
  for (const type of ['dragover', 'drop']) {
    addEventListener(type, event => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      form.classList.toggle('over', type === 'dragover' && form.contains(event.target));
      if (type === 'drop' && form.contains(event.target)) queue.add([...event.dataTransfer.files]);
    });
  }
  addEventListener('dragleave', ({ relatedTarget }) => relatedTarget ?? form.classList.remove('over'));
  addEventListener('beforeunload', event => queue.isBusy && event.preventDefault());
}

class Queue {
  isBusy = false;
  #waiting = [];

  constructor(form, list, status) {
    this.form = form;
    this.list = list;
    this.status = status;
  }

  add(files) {
    for (const file of files) this.#waiting.push({ file, ...this.#row(file) });
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
    return { item, bar, text };
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
    }
    this.isBusy = false;
    if (added > 0) await showNew();
    this.status.textContent = `Photos added: ${added}.${failed > 0 ? ` Not added: ${failed}.` : ''}`;
  }

  /** Sends one file. Returns the error if it was not added. */
  #send({ file, bar, text }) {
    const { bytesMax } = this.form.dataset;
    if (file.size > Number(bytesMax)) return `The file is larger than ${Number(bytesMax) / 1024 / 1024} MiB.`;
    const body = new FormData();
    // The file must be last: the server reads the form as it arrives.
    body.append('token', this.form.elements.token.value);
    body.append('photo', file);
    const request = new XMLHttpRequest();
    request.open('POST', this.form.action);
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
        if (etag !== undefined) renew(request.response);
        resolve(etag === undefined ? message : undefined);
      });
      request.send(body);
    });
  }
}

/** Updates the entity tag in the forms of the page, if only the photo has changed since they were loaded. */
function renew({ previousEtag, etag }) {
  for (const input of document.querySelectorAll('input[name="etag"]')) {
    if (input.value === previousEtag) input.value = etag;
  }
}

/** Adds the new photos from the current page. Entries on this page stay. */
async function showNew() {
  const response = await fetch(location.pathname).catch(() => undefined);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const gallery = document.querySelector('#photos .gallery');
  const known = new Set([...gallery.children].map(({ dataset }) => dataset.photo));
  for (const item of page.querySelectorAll('#photos .gallery > li')) {
    if (!known.has(item.dataset.photo)) gallery.append(document.adoptNode(item));
  }
}

const form = document.querySelector('#add-photos');
if (form) enhance(form);
