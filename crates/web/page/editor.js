// The scenario's text: a textarea with line numbers, the line of an error marked, and keys completed from the schema.
//
// A textarea and no editor component: it has the platform's keys, selection, spelling and screen reader support, and adds no 100 kB.

class Editor {
  /** `complete(text, offset)` gives what can be written there; `changed(text)` is called when the user has changed the text. */
  constructor({ complete, changed }) {
    this.area = document.getElementById("toml");
    this.numbers = document.getElementById("lines");
    this.list = document.getElementById("completions");
    this.message = document.getElementById("problem");
    this.complete = complete;
    this.line = null;
    this.area.addEventListener("input", () => {
      this.draw();
      this.offer();
      changed(this.area.value);
    });
    this.area.addEventListener("scroll", () => { this.numbers.scrollTop = this.area.scrollTop; });
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.area.addEventListener("click", () => this.close());
    this.list.addEventListener("mousedown", (event) => {
      const item = event.target.closest("li");
      if (!item) return;
      event.preventDefault();
      this.at = Number(item.dataset.at);
      this.take();
    });
    this.message.addEventListener("click", () => this.jump());
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    if (text === this.area.value) return;
    const { selectionStart, scrollTop } = this.area;
    this.area.value = text;
    this.area.setSelectionRange(selectionStart, selectionStart);
    this.area.scrollTop = scrollTop;
    this.draw();
  }

  /** Shows what is wrong ({message, line}), or with null that nothing is. */
  problem(error) {
    this.line = error ? error.line : null;
    this.message.hidden = !error;
    this.message.textContent = error ? error.message : "";
    this.area.setAttribute("aria-invalid", String(Boolean(error)));
    this.draw();
  }

  draw() {
    const count = this.area.value.split("\n").length;
    const lines = Array.from({ length: count }, (_, at) => {
      const one = document.createElement("span");
      one.textContent = at + 1;
      if (at + 1 === this.line) one.className = "wrong";
      return one;
    });
    this.numbers.replaceChildren(...lines);
    this.numbers.scrollTop = this.area.scrollTop;
  }

  jump() {
    if (!this.line) return;
    const lines = this.area.value.split("\n");
    const begin = lines.slice(0, this.line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(begin, begin + lines[this.line - 1].length);
    this.area.scrollTop = Math.max(0, (this.line - 4) * parseFloat(getComputedStyle(this.area).lineHeight));
  }

  /** Offers what can be written at the cursor, where something has been begun or `asked` for it. */
  offer(asked = false) {
    const { before, list } = this.complete(this.area.value, this.area.selectionStart);
    if (!list.length || (!asked && before.length < 1)) return this.close();
    [this.before, this.offered, this.at] = [before, list.slice(0, 40), 0];
    this.list.replaceChildren(...this.offered.map(({ text, about }, at) => {
      const item = document.createElement("li");
      item.id = `completion-${at}`;
      item.dataset.at = at;
      item.setAttribute("role", "option");
      const name = document.createElement("code");
      name.textContent = text;
      item.append(name, ` ${about}`);
      return item;
    }));
    this.list.hidden = false;
    this.choose(0);
    return undefined;
  }

  choose(at) {
    this.at = (at + this.offered.length) % this.offered.length;
    [...this.list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === this.at)));
    this.list.children[this.at].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", `completion-${this.at}`);
  }

  take() {
    const end = this.area.selectionStart;
    const { insert } = this.offered[this.at];
    this.area.setRangeText(insert, end - this.before.length, end, "end");
    this.close();
    this.area.dispatchEvent(new Event("input"));
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  key(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.offer(true);
      return;
    }
    if (this.list.hidden) return;
    const does = {
      ArrowDown: () => this.choose(this.at + 1),
      ArrowUp: () => this.choose(this.at - 1),
      Enter: () => this.take(),
      Escape: () => this.close(),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }
}
