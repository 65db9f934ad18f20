"""`askwise train`: what it reads, chooses, writes and says."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from askwise import load

pytestmark = pytest.mark.usefixtures("folder")


def strict_json(text):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_train_writes_a_model_with_prices_groups_and_free_columns(trained):
    space = load(trained / "heart.askwise").model_.schema.space
    prices = dict(zip(space.names, space.costs, strict=True))
    assert prices == {"pressure": 2.5, "exercise test": 15, "smoker": 1, "scan": 40, "site": 1}


def test_the_model_remembers_its_target_and_the_name_of_its_data(trained):
    card = load(trained / "heart.askwise").model_.card
    assert (card["target"], card["data"]) == ("diagnosis", "cases.csv")


def test_the_column_of_split_by_is_no_question(trained):
    assert "patient" not in load(trained / "heart.askwise").model_.schema.column_names


def test_train_ends_with_a_table_and_commands_that_can_be_copied(run, fast):
    said = run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient", *fast)
    assert said.exit_code == 0
    assert "average cost" in said.stdout
    assert "accuracy" in said.stdout
    assert "askwise info cases.askwise" in said.stdout
    line = next(line for line in said.stdout.splitlines() if "askwise ask" in line)
    again = run(*line.split("#")[0].split()[1:], typed="")
    assert again.exit_code == 0


def test_what_files_say_of_a_dropped_column_is_not_missed(run, fast):
    prices = pd.DataFrame({"name": ["pressure", "scan"], "cost": [2.5, 40]})
    prices.to_csv("prices.csv", index=False)
    said = run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient,scan", "--costs", "prices.csv", *fast)
    assert said.exit_code == 0, said.stderr
    space = load("cases.askwise").model_.schema.space
    assert dict(zip(space.names, space.costs, strict=True))["pressure"] == 2.5
    assert "scan" not in space.names


@pytest.mark.parametrize("name", ["my.cases.csv", "my.cases.csv.gz", "my.cases.parquet"])
def test_the_model_is_named_after_the_table_without_its_endings(run, folder, fast, name):
    table = pd.read_csv("cases.csv").drop(columns="patient")
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
        table.to_parquet(name)
    else:
        table.to_csv(name, index=False)
    assert run("train", name, "--target", "diagnosis", *fast).exit_code == 0
    assert (folder / "my.cases.askwise").exists()


def test_semicolons_between_columns_are_understood(run, fast):
    pd.read_csv("cases.csv").to_csv("semi.csv", sep=";", index=False)
    said = run("train", "semi.csv", "--target", "diagnosis", "--drop", "patient,site", "--json", *fast)
    assert "scan" in strict_json(said.stdout)["questions"]


def test_rows_without_a_target_are_left_out_and_counted(run, fast):
    table = pd.read_csv("cases.csv").drop(columns="patient")
    table.loc[[3, 7, 9], "diagnosis"] = None
    table.to_csv("holes.csv", index=False)
    said = run("train", "holes.csv", "--target", "diagnosis", "--json", *fast)
    assert "3 of 300 rows have no 'diagnosis'" in said.stderr
    assert strict_json(said.stdout)["rows"] == 297
    assert strict_json(said.stdout)["rows_left_out"] == 3


@pytest.mark.parametrize(
    ("answers", "task"),
    [
        (["yes", "no"], "classification"),
        ([True, False], "classification"),
        ([1, 2, 3], "classification"),
        ([1.0, 0.0, None], "classification"),
        ([0.5, 1.5, 2.5], "regression"),
        (list(range(21)), "regression"),
    ],
)
def test_the_task_follows_from_the_target(run, fast, answers, task):
    values = [answers[i % len(answers)] for i in range(90)]
    pd.DataFrame({"a": range(90), "answer": pd.Series(values, dtype=object)}).to_csv("t.csv", index=False)
    said = run("train", "t.csv", "--target", "answer", "--json", *fast)
    assert strict_json(said.stdout)["task"] == task
    assert f"by {task}" in said.stderr


def test_the_chosen_task_can_be_changed(run, fast):
    pd.DataFrame({"a": range(90), "answer": [i % 3 for i in range(90)]}).to_csv("t.csv", index=False)
    said = run("train", "t.csv", "--target", "answer", "--json", *fast)
    assert "--task regression" in said.stderr
    said = run("train", "t.csv", "--target", "answer", "--task", "regression", "--json", *fast)
    assert strict_json(said.stdout)["task"] == "regression"


def test_whole_numbers_with_holes_stay_whole_labels(run, fast):
    pd.DataFrame({"a": range(60), "answer": [1, 0, None] * 20}).to_csv("t.csv", index=False)
    assert run("train", "t.csv", "--target", "answer", *fast).exit_code == 0
    assert load("t.askwise").classes_.tolist() == [0, 1]


def test_a_column_whose_name_has_a_comma_can_be_free(run, fast):
    pd.DataFrame({"a": range(60), "b, c": range(60), "answer": ["x", "y"] * 30}).to_csv("t.csv", index=False)
    said = run("train", "t.csv", "--target", "answer", "--free", "b, c", "--json", *fast)
    assert strict_json(said.stdout)["free"] == ["b, c"]


def test_json_is_strict_and_alone_on_standard_output(run, fast):
    said = run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient", "--json", *fast)
    facts = strict_json(said.stdout)
    assert facts["model"] == "cases.askwise"
    assert facts["frontier"][0]["mean_cost"] == 0


def test_quiet_prints_nothing(run, fast):
    said = run("train", "cases.csv", "--target", "diagnosis", "--quiet", *fast)
    assert (said.exit_code, said.output) == (0, "")


def test_a_warning_is_one_clean_line(run, folder, fast):
    said = run("train", "cases.csv", "--target", "diagnosis", "--free", "age", "--costs", "c.json", *fast)
    assert said.exit_code == 2
    (folder / "c.json").write_text('{"age": 3}')
    said = run("train", "cases.csv", "--target", "diagnosis", "--free", "age", "--costs", "c.json", *fast)
    lines = [line for line in said.stderr.splitlines() if "ignored" in line]
    assert lines == ["Warning: the price of 'age' is ignored: it is a free column"]
    assert "AskwiseWarning" not in said.stderr


def test_names_in_brackets_are_shown_as_they_are(run, fast):
    pd.DataFrame({"[bold]": range(60), "answer": ["x", "y"] * 30}).to_csv("t.csv", index=False)
    said = run("train", "t.csv", "--target", "answer", "-o", "[red]m.askwise", *fast)
    assert "[red]m.askwise: 1 question, learnt from 60 rows" in said.stdout
    assert "[bold]" in run("info", "[red]m.askwise").stdout
    assert "▶ [bold]" in run("ask", "[red]m.askwise", typed="").stdout


def test_the_scaling_of_estimates_can_be_chosen(run, fast):
    arguments = ["train", "cases.csv", "--target", "diagnosis", "--drop", "patient", *fast]
    assert run(*arguments, "--scaling", "positive").exit_code == 0
    assert load("cases.askwise").scaling == "positive"
    assert run(*arguments).exit_code == 0
    assert load("cases.askwise").scaling == "bounded"


@pytest.mark.parametrize(
    ("target", "scaling", "words"),
    [("diagnosis", "bound", "unknown scaling 'bound'"), ("scan", "bounded", "scaling 'bounded' is for classes only")],
)
def test_a_scaling_that_the_task_does_not_have_is_an_error(run, fast, target, scaling, words):
    said = run("train", "cases.csv", "--target", target, "--drop", "patient", "--scaling", scaling, *fast)
    assert said.exit_code == 2
    assert words in said.stderr
    assert "; allowed here: " in said.stderr


def test_the_same_seed_writes_the_same_model_however_long_it_took(run, fast):
    for name in ("one", "two"):
        run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient", *fast, "-o", f"{name}.askwise")
    one, two = (load(f"{name}.askwise").model_ for name in ("one", "two"))
    weights, same = one.policy.state_dict(), two.policy.state_dict()
    assert all((weights[key] == same[key]).all() for key in weights)
    assert one.fingerprint == two.fingerprint
    assert one.card["seconds"] > 0


def test_settings_of_tables_can_be_chosen(run, fast):
    chosen = ("--encoding", 4, "--lookahead", 0)
    said = run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient", *chosen, *fast, "-o", "m.askwise")
    assert said.exit_code == 0, said.output
    found = load("m.askwise")
    assert (found.encoding, found.lookahead) == (4, 0)
    assert len(found.model_.schema.column("scan").edges) == 5


def test_columns_without_a_price_are_told_once(run, fast):
    arguments = ["train", "cases.csv", "--target", "diagnosis", "--drop", "patient", *fast]
    said = run(*arguments, "--costs", "costs.csv", "--groups", "groups.json")
    assert said.stderr.count("3 questions have no price and cost 1: 'age', 'sex', 'smoker'\n") == 1
    assert "no price" not in run(*arguments).stderr


def test_a_text_that_turns_numbers_into_an_identifier_is_told_with_its_line(run, fast):
    table = pd.read_csv("cases.csv").astype({"pressure": object})
    table.loc[3, "pressure"] = "lost"
    table.to_csv("t.csv", index=False)
    said = run("train", "t.csv", "--target", "diagnosis", "--drop", "patient", *fast)
    left_out = "column 'pressure' is left out: it holds numbers, and texts among them: 'lost' in line 5."
    assert f"Warning: {left_out}" in said.stderr


def test_a_column_that_is_left_out_is_not_among_the_worst_findings(run, fast):
    table = pd.read_csv("cases.csv")
    table["visit"] = pd.date_range("2020-01-01", periods=len(table)).strftime("%Y-%m-%d")
    table.to_csv("t.csv", index=False)
    said = run("train", "t.csv", "--target", "diagnosis", "--drop", "patient", *fast)
    assert "Column 'visit' is left out" in said.stderr
    assert said.stderr.count("'visit'") == 1
    assert "'visit'" in run("check", "t.csv", "--target", "diagnosis", "--drop", "patient").stdout


def test_training_goes_on_from_a_checkpoint(run, folder, fast):
    arguments = ["train", "cases.csv", "--target", "diagnosis", "--drop", "patient", "--checkpoint", "runs", *fast]
    assert run(*arguments, "--quiet").exit_code == 0
    (saved,) = (folder / "runs").iterdir()
    written = saved.stat().st_mtime_ns
    assert "Every epoch was in runs already" in run(*arguments).stderr
    assert saved.stat().st_mtime_ns == written


def test_an_early_stop_is_said(run):
    table = pd.DataFrame({"noise": [(i * 7919) % 101 for i in range(60)], "answer": ["x", "y", "y"] * 20})
    table.to_csv("t.csv", index=False)
    longest = ["--hidden", "8", "--epochs", "400", "--pretrain-epochs", "2"]
    said = run("train", "t.csv", "--target", "answer", "--json", *longest)
    ran = strict_json(said.stdout)["card"]["epochs"]["joint"]
    assert ran < 400
    assert f"stopped early, after {ran} of 400 epochs" in said.stderr


def test_another_method_is_trained_shown_and_asked(run):
    fast = ("--hidden", 8, "--epochs", 2)
    made = run("train", "cases.csv", "-t", "diagnosis", "--drop", "patient", "--method", "random-order", *fast)
    assert made.exit_code == 0, made.output
    assert "askwise ask cases.askwise --stop budget=" in made.stdout
    assert "random-order-classifier" in run("info", "cases.askwise").stdout
    asked = run("ask", "cases.askwise", "--stop", "budget=1", typed="stop\n")
    assert "cost" in asked.output
    assert "per price" not in asked.output
    assert run("evaluate", "cases.askwise", "test.csv", "--report", "report").exit_code == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--method", "dyme"], "unknown method 'dyme'; did you mean 'dime'?"),
        (["--method", "random-order", "--scaling", "none"], "the method 'random-order' has no --scaling"),
        (["--budget", "3"], "the method 'dime' has no --budget"),
        (["--method", "cwcf", "--task", "regression", "-t", "age"], "'cwcf' predicts classes, and a number is"),
        (["--method", "random-order", "--budget", "-1"], "budget must be a number above 0"),
    ],
)
def test_a_method_that_does_not_fit_is_told(run, given, told):
    target = [] if "-t" in given else ["-t", "diagnosis"]
    said = run("train", "cases.csv", *target, *given)
    assert said.exit_code == 2
    assert told in " ".join(said.output.split())


def test_a_column_that_has_words_is_no_identifier(run, folder, fast):
    table = pd.read_csv("cases.csv").drop(columns="patient").assign(code=[f"c{i}" for i in range(300)])
    table.to_csv("t.csv", index=False)
    (folder / "q.json").write_text('{"code": "Which code?"}')
    said = run("train", "t.csv", "--target", "diagnosis", "--questions", "q.json", *fast)
    assert said.exit_code == 0, said.output
    assert load("t.askwise").model_.schema.wording_of("code").text == "Which code?"


def test_choices_that_were_never_seen_are_told(run, folder, fast):
    (folder / "q.csv").write_text("name,choices\npain,often|seldom|none|always\n")
    said = run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient", "--questions", "q.csv", *fast)
    assert "Warning: choices of 'pain' never seen in training are left out: 'always'" in said.stderr
    assert load("cases.askwise").model_.schema.column("pain").categories == ("often", "seldom", "none")


def test_columns_that_tell_nothing_are_left_out_in_one_line(run, fast):
    pd.read_csv("cases.csv").assign(empty=pd.NA, blank=pd.NA).to_csv("t.csv", index=False)
    said = run("train", "t.csv", "--target", "diagnosis", "--drop", "patient", *fast)
    assert said.exit_code == 0, said.output
    told = "'empty', 'blank' (no value in any row) and 'site' (the same value in every row)"
    assert f"Columns left out, since they tell nothing: {told}" in said.stderr.splitlines()
    assert not {"empty", "blank", "site"} & set(load("t.askwise").model_.schema.column_names)


def test_a_constant_column_that_has_a_price_is_asked_all_the_same(run, folder, fast):
    (folder / "c.json").write_text('{"site": 2}')
    said = run("train", "cases.csv", "-t", "diagnosis", "--drop", "patient", "--costs", "c.json", *fast)
    assert said.exit_code == 0, said.output
    assert "site" in load("cases.askwise").model_.schema.column_names


def test_an_empty_column_is_left_out_of_prices_groups_and_questions_too(run, folder, fast):
    pd.read_csv("cases.csv").assign(empty=pd.NA, blank=pd.NA).to_csv("t.csv", index=False)
    (folder / "c.json").write_text('{"panel": 2, "blank": 3}')
    (folder / "g.json").write_text('{"panel": ["empty"], "exercise": ["rate", "empty", 4]}')
    (folder / "q.json").write_text('{"panel": "Which?", "empty": "What?"}')
    files = ("--costs", "c.json", "--groups", "g.json", "--questions", "q.json", "--free", "age,blank")
    said = run("train", "t.csv", "-t", "diagnosis", "--drop", "patient", *files, *fast)
    assert said.exit_code == 0, said.output
    schema = load("t.askwise").model_.schema
    assert schema.free == ("age",)
    assert [column.name for column in schema.columns_of("exercise")] == ["rate", "pain"]
    assert "panel" not in schema.space.names


def test_train_prints_the_worst_findings_and_the_command_that_shows_all(run, fast):
    said = run("train", "cases.csv", "--target", "diagnosis", *fast)
    assert "Serious, 'patient': Its values repeat: 100 different ones in 300 rows" in said.stderr
    assert "askwise check cases.csv --target diagnosis" in said.stderr


def test_with_json_findings_are_a_list_and_with_quiet_they_are_silent(run, fast):
    said = run("train", "cases.csv", "--target", "diagnosis", "--json", *fast)
    kinds = [finding["kind"] for finding in strict_json(said.stdout)["findings"]]
    assert kinds == ["repeated-person", "constant"]
    said = run("train", "cases.csv", "--target", "diagnosis", "--quiet", *fast)
    assert said.output == ""
