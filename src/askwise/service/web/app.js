// Creates the views of the page, connects them with what people can do, and starts.

import { actions } from "./actions.js";
import { AnswersView } from "./answers.js";
import { byId } from "./dom.js";
import { FreeColumnsView } from "./free_columns.js";
import { page } from "./page.js";
import { PatchQuestionView } from "./patch_question.js";
import { photoActions } from "./photo_actions.js";
import { PredictionView } from "./prediction.js";
import { QuestionView } from "./question.js";
import { RankingView } from "./ranking.js";
import { RuleView } from "./rule.js";
import { showModel, start } from "./start.js";
import { startTheme } from "./theme.js";

const all = { ...actions, ...photoActions };
page.views = {
  form: new QuestionView(all),
  patchQuestion: new PatchQuestionView(all),
  freeColumns: new FreeColumnsView(all),
  ranking: new RankingView(all),
  rule: new RuleView(all),
  prediction: new PredictionView(),
  answers: new AnswersView(all),
};
page.question = page.views.form;

startTheme(byId("theme"));
byId("model").addEventListener("change", () => showModel(byId("model").value, null, { push: true }));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  if (page.conversation) page.question.focus();
});
addEventListener("hashchange", start);
start();
