// Adds a button that fills in the visitor's location, if the browser supports that. Asks for permission only after a
// click.

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
        // Two decimals are about a kilometer, which is enough for a search.
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
