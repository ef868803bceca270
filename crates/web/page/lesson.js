// Lessons: a question, a guess, then the run. Which answer was right is judged from the run's numbers by the rule that the lesson declares.

/**
 * What a lesson's rule makes of runs: {value, right}, `right` the place of the answer; null where these runs do not have its numbers.
 *
 * The value is the number `of`, over the number `over` where there is one. `bands` are limits between the answers, in their order: the
 * first answer is right below the first limit.
 */
function judgeRuns({ of, over, bands }, runs) {
  const number = ({ measure, run = 0 }) => (runs[run] ? measured(runs[run].digest).get(measure) : undefined);
  const above = number(of);
  const below = over ? number(over) : 1;
  if (above === undefined || below === undefined || (above === 0 && below === 0)) return null;
  const value = below === 0 ? Infinity : above / below;
  const at = bands.findIndex((limit) => value < limit);
  return { value, right: at < 0 ? bands.length : at };
}

/** The numbers that decide, in a sentence. */
function writeResult({ of, over }, value, runs, measures) {
  const declared = ({ measure }) => measures.find((one) => one.measure === measure);
  const number = (at) => writeValue(measured(runs[at.run ?? 0].digest).get(at.measure), declared(at).unit);
  const under = ({ run = 0 }) => (runs.length > 1 ? ` (${runs[run].algorithm})` : "");
  if (!over) return `${declared(of).label}: ${number(of)}.`;
  const other = of.measure === over.measure ? under(over) : ` (${declared(over).label})`;
  const times = Number.isFinite(value) ? `: ${digits(value)} times as much` : "";
  return `${declared(of).label}: ${number(of)}${under(of)} against ${number(over)}${other}${times}.`;
}

/** A lesson's rule in words: which answer is right within which limits. */
function writeRule({ over, bands }, answers) {
  const limits = answers.map((answer, at) => {
    const [low, high] = [bands[at - 1], bands[at]];
    const range = low === undefined ? `below ${high}` : high === undefined ? `from ${low} on` : `from ${low} to ${high}`;
    return `“${answer}” ${range}`;
  });
  return `Judged by ${over ? "the first number over the second one" : "this number"}: ${limits.join(", ")}.`;
}

/** The card of a lesson above the charts. */
class LessonCard {
  /** `choose()` is called when an answer has been chosen. */
  constructor(lessons, measures, choose) {
    [this.lessons, this.measures, this.choose] = [lessons, measures, choose];
    this.lesson = null;
    this.chosen = null;
  }

  /** Whether a question waits for an answer. */
  get asks() {
    return this.lesson !== null && this.chosen === null;
  }

  /** Shows a lesson's question, or with null no lesson. */
  open(lesson) {
    [this.lesson, this.chosen] = [lesson, null];
    $("lesson").hidden = lesson === null;
    document.body.classList.toggle("asks", this.asks);
    $("lesson-after").hidden = true;
    if (!lesson) return;
    const at = this.lessons.indexOf(lesson);
    $("lesson-title").textContent = `Question ${at + 1} of ${this.lessons.length}: ${lesson.title}`;
    $("lesson-question").textContent = lesson.question;
    $("lesson-answers").replaceChildren(...lesson.answers.map((answer, place) => {
      const button = text("button", answer, "answer");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => this.chooseAnswer(place));
      return button;
    }));
    $("lesson-next").href = `#lesson=${this.lessons[(at + 1) % this.lessons.length].id}`;
    $("lesson-page").href = lesson.page;
    $("lesson-change").textContent = lesson.change.text;
    $("lesson-result").textContent = $("lesson-rule").textContent = "";
    // Whoever came by the link to the next question goes on there.
    if (document.activeElement === $("lesson-next")) $("lesson-title").focus();
  }

  chooseAnswer(place) {
    if (!this.asks) return;
    this.chosen = place;
    document.body.classList.remove("asks");
    [...$("lesson-answers").children].forEach((button, at) => {
      button.setAttribute("aria-pressed", String(at === place));
      button.setAttribute("aria-disabled", "true");
    });
    this.choose();
  }

  /** Says which answer these runs give. */
  reveal(runs) {
    if (!this.lesson || this.asks) return;
    const { answers, rule, change } = this.lesson;
    const found = judgeRuns(rule, runs);
    const control = document.querySelector(`#controls [data-key="${change.key}"]`)?.closest(".control");
    if (control && $("lesson-after").hidden) markLast($("controls"), control);
    $("lesson-after").hidden = false;
    [...$("lesson-answers").children].forEach((button, at) => {
      button.classList.toggle("right", found?.right === at);
      button.textContent = `${answers[at]}${found?.right === at ? " – this is what happened" : at === this.chosen ? " – your answer" : ""}`;
    });
    if (!found) {
      $("lesson-result").textContent = "These runs do not have the numbers that answer the question.";
      $("lesson-rule").textContent = "";
      return;
    }
    const verdict = found.right === this.chosen ? "As you said." : `Not as you said (${answers[this.chosen]}).`;
    $("lesson-result").textContent = `${verdict} ${writeResult(rule, found.value, runs, this.measures)}`;
    $("lesson-rule").textContent = writeRule(rule, answers);
  }

  /** Takes back the result of runs that are no longer shown. */
  clear() {
    $("lesson-result").textContent = $("lesson-rule").textContent = "";
    if (!this.lesson) return;
    [...$("lesson-answers").children].forEach((button, at) => {
      button.classList.remove("right");
      button.textContent = this.lesson.answers[at];
    });
  }
}
