// Creates and uses passkeys in forms with `data-passkey="create"` or `"get"`. `data-options` of the form are the options
// as JSON. Their button is disabled and their status element says that passkeys need JavaScript, until this script has
// found that the browser supports them.

const isSupported =
  globalThis.isSecureContext && 'getPublicKey' in (globalThis.AuthenticatorAttestationResponse?.prototype ?? {});

for (const form of document.querySelectorAll('form[data-passkey]')) enhance(form);

function enhance(form) {
  const button = form.querySelector('button');
  const status = form.querySelector('[role="status"]');
  button.disabled = !isSupported;
  status.textContent = isSupported ? '' : 'Passkeys do not work in this browser.';
  form.addEventListener('submit', async event => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    status.textContent = 'Follow the instructions of your browser.';
    try {
      const { passkey: action, options } = form.dataset;
      const fields = await (action === 'create' ? create : get)(JSON.parse(options));
      for (const [name, value] of Object.entries(fields)) form.elements.namedItem(name).value = value;
      status.textContent = '';
      // This sends the form without another event.
      form.submit();
    } catch (error) {
      status.textContent = messages[error.name] ?? 'That did not work. Try again.';
    }
    button.disabled = false;
  });
}

/** By the names of errors of the browser. It does not say whether the user cancelled or took too long. */
const messages = {
  NotAllowedError: 'Cancelled, or it took too long. Try again.',
  InvalidStateError: 'This device already has a passkey for you.',
  NotSupportedError: 'This device cannot create a passkey that works here.',
  SecurityError: 'Passkeys do not work at this address.',
};

async function create(options) {
  const { response } = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      user: { ...options.user, id: bytesOf(options.user.id) },
      excludeCredentials: options.excludeCredentials.map(withBytes),
    },
  });
  const publicKey = response.getPublicKey();
  if (publicKey === null) throw new DOMException('', 'NotSupportedError');
  return {
    clientDataJSON: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.getAuthenticatorData()),
    publicKey: textOf(publicKey),
    algorithm: String(response.getPublicKeyAlgorithm()),
  };
}

async function get(options) {
  const { rawId, response } = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      allowCredentials: options.allowCredentials.map(withBytes),
    },
  });
  return {
    credentialId: textOf(rawId),
    clientDataJSON: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.authenticatorData),
    signature: textOf(response.signature),
  };
}

function withBytes(credential) {
  return { ...credential, id: bytesOf(credential.id) };
}

/** Returns the bytes of a text in base64url. */
function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), character => character.charCodeAt(0));
}

/** Returns bytes in base64url. */
function textOf(buffer) {
  const binary = Array.from(new Uint8Array(buffer), byte => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
