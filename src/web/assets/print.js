// Shows the buttons that print the page: without this script, people print with the menu of the browser.

for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
