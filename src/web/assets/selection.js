// Selects all rows of a page, or a range of them with Shift, and counts the selected ones.

const form = document.querySelector('#selection');
if (form) enhance(form);

function enhance(form) {
  const boxes = () => [...document.querySelectorAll('input[form="selection"]')];
  const { all } = form.elements;
  const button = form.querySelector('button');
  const status = document.createElement('p');
  status.className = 'sr-only';
  status.setAttribute('role', 'status');
  const label = document.createElement('label');
  label.className = 'choice';
  const page = document.createElement('input');
  page.type = 'checkbox';
  label.append(page, ' All on this page');
  form.querySelector('.choices').prepend(label);
  form.append(status);

  page.addEventListener('change', () => {
    for (const box of boxes()) box.checked = page.checked;
  });
  let last;
  document.querySelector('table.cards').addEventListener('click', ({ target, shiftKey }) => {
    const list = boxes();
    const index = list.indexOf(target);
    if (index < 0) return;
    const from = shiftKey && last !== undefined ? last : index;
    for (const box of list.slice(Math.min(from, index), Math.max(from, index) + 1)) box.checked = target.checked;
    last = index;
    count();
  });
  form.addEventListener('change', count);
  // Browsers restore the boxes when a visitor comes back to the page.
  addEventListener('pageshow', count);

  function count() {
    const list = boxes();
    const selected = list.filter(box => box.checked).length;
    page.checked = selected === list.length;
    page.indeterminate = selected > 0 && selected < list.length;
    const number = all?.checked ? 'all' : selected;
    button.textContent = number === 0 ? 'Continue' : `Continue (${number})`;
    status.textContent = number === 0 ? '' : `${number} selected`;
  }
}
