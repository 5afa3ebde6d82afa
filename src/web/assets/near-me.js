// Adds a button that fills in the place of the visitor, where the browser can tell it. Nothing asks before a click.

const field = document.querySelector('#near');
if (field && navigator.geolocation && isSecureContext) addButton();

function addButton() {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'plain locate';
  button.textContent = 'Near me';
  const status = document.createElement('span');
  status.className = 'hint';
  status.setAttribute('role', 'status');
  button.addEventListener('click', () => {
    status.textContent = 'Looking …';
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        // Two decimals are about a kilometer: enough for a search, and no more than it needs.
        field.value = `${coords.latitude.toFixed(2)},${coords.longitude.toFixed(2)}`;
        field.form.requestSubmit();
      },
      () => {
        status.textContent = 'Unknown. Enter a postal code.';
        field.focus();
      },
      { timeout: 10_000, maximumAge: 600_000 },
    );
  });
  field.parentElement.append(button, status);
}
