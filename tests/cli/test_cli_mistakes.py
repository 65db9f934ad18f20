"""A user's mistakes: a clear message, exit code 2, nothing on standard output, nothing changed on disk."""

from __future__ import annotations

import pickle

import pytest
import safetensors.torch
import torch

TRAIN = ("train", "cases.csv", "--target", "diagnosis", "--drop", "patient")

# The arguments, files to write first, and words of the message.
MISTAKES = {
    "a target that is not there": (("train", "cases.csv", "--target", "diagnosi"), {}, ["did you mean 'diagnosis'?"]),
    "no target": (("train", "cases.csv"), {}, ["--target"]),
    "a file that is not there": (("train", "none.csv", "--target", "y"), {}, ["there is no file none.csv"]),
    "a folder for a file": (("train", ".", "--target", "y"), {}, ["has no sub-folders"]),
    "an unknown type of file": (("train", "t.xlsx", "--target", "y"), {"t.xlsx": "PK"}, [".xlsx", ".csv", ".parquet"]),
    "an empty file": (("train", "t.csv", "--target", "y"), {"t.csv": ""}, ["t.csv is empty"]),
    "names without rows": (("train", "t.csv", "--target", "y"), {"t.csv": "a,y\n"}, ["no rows"]),
    "a constant target": (
        ("train", "t.csv", "--target", "y"),
        {"t.csv": "a,y\n1,x\n2,x\n"},
        ["one class only", "'x'"],
    ),
    "a constant number": (
        ("train", "t.csv", "--target", "y", "--task", "regression"),
        {"t.csv": "a,y\n1,5\n2,5\n"},
        ["nothing to learn"],
    ),
    "a target that is missing everywhere": (
        ("train", "t.csv", "--target", "y"),
        {"t.csv": "a,y\n1,\n2,\n"},
        ["'y' has no value in any row"],
    ),
    "an infinite target": (
        ("train", "t.csv", "--target", "y"),
        {"t.csv": "a,y\n1,1\n2,inf\n"},
        ["'y' holds infinity"],
    ),
    "fewer rows than classes": (
        ("train", "t.csv", "--target", "y"),
        {"t.csv": "a,y\n1,p\n2,q\n3,r\n"},
        ["3 classes in 3 rows"],
    ),
    "fractions for classes": (
        ("train", "t.csv", "--target", "y", "--task", "classification"),
        {"t.csv": "a,y\n1,0.5\n2,1.5\n"},
        ["holds 0.5", "--task regression"],
    ),
    "text for a number": ((*TRAIN, "--task", "regression"), {}, ["must be numbers"]),
    "an unknown task": ((*TRAIN, "--task", "clustering"), {}, ["'--task'", "regression"]),
    "an unknown column in costs": ((*TRAIN, "--costs", "c.json"), {"c.json": '{"scam": 1}'}, ["did you mean 'scan'?"]),
    "an unknown column in a csv of costs": (
        (*TRAIN, "--costs", "c.csv"),
        {"c.csv": "name,cost\nscam,1\n"},
        ["did you mean 'scan'?"],
    ),
    "costs without their columns": (
        (*TRAIN, "--costs", "c.csv"),
        {"c.csv": "question,price\nscan,1\n"},
        ["name and cost"],
    ),
    "a cost given twice": ((*TRAIN, "--costs", "c.csv"), {"c.csv": "name,cost\nscan,1\nscan,2\n"}, ["two prices"]),
    "a cost of zero": ((*TRAIN, "--costs", "c.json"), {"c.json": '{"scan": 0}'}, ["'scan' is 0", "above 0"]),
    "a negative cost": ((*TRAIN, "--costs", "c.json"), {"c.json": '{"scan": -2}'}, ["'scan' is -2", "above 0"]),
    "a cost that is no number": ((*TRAIN, "--costs", "c.json"), {"c.json": '{"scan": NaN}'}, ["nan", "above 0"]),
    "an infinite cost": ((*TRAIN, "--costs", "c.json"), {"c.json": '{"scan": Infinity}'}, ["inf", "above 0"]),
    "costs that are no mapping": ((*TRAIN, "--costs", "c.json"), {"c.json": "[1]"}, ["holds a list"]),
    "costs that are no JSON": ((*TRAIN, "--costs", "c.json"), {"c.json": "{"}, ["not valid JSON"]),
    "prices of a group and its column": (
        (*TRAIN, "--groups", "groups.json", "--costs", "c.json"),
        {"c.json": '{"exercise test": 3, "rate": 1}'},
        ["'exercise test' has a price and so has its column"],
    ),
    "an unknown column in groups": ((*TRAIN, "--groups", "g.json"), {"g.json": '{"g": ["scam"]}'}, ["'scan'?"]),
    "a column in two groups": (
        (*TRAIN, "--groups", "g.json"),
        {"g.json": '{"g": ["scan"], "h": ["scan"]}'},
        ["in two groups, 'g' and 'h'"],
    ),
    "a free column in a group": (
        (*TRAIN, "--groups", "groups.json", "--free", "rate"),
        {},
        ["'rate' is free and in group 'exercise test'"],
    ),
    "a question that is not there": (
        (*TRAIN, "--questions", "q.csv"),
        {"q.csv": "name,text\nscam,What does it show?\n"},
        ["did you mean 'scan'?"],
    ),
    "a text with a comma without quotes": (
        (*TRAIN, "--questions", "q.csv"),
        {"q.csv": "name,text\nscan,What, if anything?\n"},
        ["line 2", "quotes"],
    ),
    "choices that are no numbers": (
        (*TRAIN, "--questions", "q.json"),
        {"q.json": '{"scan": {"choices": ["high", "low"]}}'},
        ["'scan' takes numbers, and its choice 'high' is none"],
    ),
    "rows that limits refuse": (
        ("train", "t.csv", "--target", "y", "--questions", "q.csv"),
        {"t.csv": "age,y\n" + "30,p\n600,q\n" * 3, "q.csv": "name,min,max\nage,0,120\n"},
        [
            "3 values are not allowed: 'age' takes a number from 0 to 120, and line 3 has 600, line 5 has 600",
            "correct them",
        ],
    ),
    "no such encoding": ((*TRAIN, "--encoding", "fine"), {}, ["encoding must be 'auto', 'raw' or a whole", "'fine'"]),
    "no such look-ahead": ((*TRAIN, "--lookahead", "2"), {}, ["lookahead must be 'auto' or a number in [0, 1)"]),
    "a method without look-ahead": ((*TRAIN, "--method", "mrmr", "--lookahead", "0"), {}, ["has no --lookahead"]),
    "a price of an unknown column": (
        ("check", "cases.csv", "--target", "diagnosis", "--costs", "c.csv"),
        {"c.csv": "name,cost\nscann,3\n"},
        ["column or group in costs: 'scann'; did you mean 'scan'?"],
    ),
    "an unknown column of codes": ((*TRAIN, "--categories", "sexx"), {}, ["categories", "did you mean 'sex'?"]),
    "an unknown free column": ((*TRAIN, "--free", "agee"), {}, ["did you mean 'age'?"]),
    "nothing left to ask": (
        ("train", "t.csv", "--target", "y", "--free", "a"),
        {"t.csv": "a,y\n" + "1,p\n2,q\n" * 3},
        ["nothing is left to ask"],
    ),
    "an unknown column to drop": ((*TRAIN, "--drop", "agee"), {}, ["--drop", "did you mean 'age'?"]),
    "an unknown column to split by": (
        ("train", "cases.csv", "--target", "diagnosis", "--split-by", "patiet"),
        {},
        ["--split-by", "did you mean 'patient'?"],
    ),
    "a hole in the column to split by": ((*TRAIN, "--split-by", "scan"), {}, ["--split-by", "no value in"]),
    "infinities in a column": (
        ("train", "t.csv", "--target", "y"),
        {"t.csv": "a,y\n" + "1,p\ninf,q\n" * 5},
        ["line 3: 'a' takes a finite number, was given inf; correct it"],
    ),
    "no column that tells anything": (
        ("train", "t.csv", "--target", "y"),
        {"t.csv": "a,b,y\n" + "1,,p\n1,,q\n" * 5},
        ["no column has different values", "'b' (no value in any row) and 'a' (the same value in every row)"],
    ),
    "class weights for a number": (
        ("train", "cases.csv", "--target", "scan", "--class-weights", "balanced"),
        {},
        ["--class-weights is for classes"],
    ),
    "unknown class weights": ((*TRAIN, "--class-weights", "heavy"), {}, ["'balanced'", "'heavy'"]),
    "an unknown device": ((*TRAIN, "--device", "toaster"), {}, ["'toaster'", "'cpu'"]),
    "a folder for the model": ((*TRAIN, "-o", "."), {}, ["is a folder"]),
    "a file for the model's folder": ((*TRAIN, "-o", "cases.csv/m.askwise"), {}, ["is a file"]),
    "the table for the model": ((*TRAIN, "-o", "cases.csv"), {}, ["the table itself"]),
    "a file for the checkpoints": ((*TRAIN, "--checkpoint", "cases.csv"), {}, ["is a file"]),
    "a missing column": (
        ("evaluate", "heart.askwise", "t.csv"),
        {"t.csv": "age,sex,pressure,rate,pain,smoker,scann,site,diagnosis\n1,male,1,1,none,True,1,7,sick\n"},
        ["no column 'scan'", "is it 'scann' there?"],
    ),
    "text in a numeric column": (
        ("evaluate", "heart.askwise", "t.csv"),
        {"t.csv": "age,sex,pressure,rate,pain,smoker,scan,site,diagnosis\nold,male,1,1,none,True,1,7,sick\n"},
        ["t.csv, where line 1 is the header: 1 value is not allowed: 'age' takes a number, and line 2 has 'old'"],
    ),
    "a label never seen": (
        ("evaluate", "heart.askwise", "t.csv"),
        {"t.csv": "age,sex,pressure,rate,pain,smoker,scan,site,diagnosis\n1,male,1,1,none,True,1,7,dead\n"},
        ["'dead'", "'sick', 'well'"],
    ),
    "an empty file to evaluate": (("evaluate", "heart.askwise", "t.csv"), {"t.csv": ""}, ["t.csv is empty"]),
    "a file for the report": (("evaluate", "heart.askwise", "test.csv", "--report", "cases.csv"), {}, ["is a file"]),
    "the table before the model": (
        ("evaluate", "test.csv", "heart.askwise"),
        {},
        ["test.csv is a table and heart.askwise a model", "askwise evaluate heart.askwise test.csv"],
    ),
    "an unknown rule": (("ask", "heart.askwise", "--stop", "budgt=3"), {}, ["did you mean 'budget'?"]),
    "a rule without a number": (("ask", "heart.askwise", "--stop", "budget"), {}, ["needs a number"]),
    "a negative budget": (("ask", "heart.askwise", "--stop", "budget=-1"), {}, ["at least 0"]),
    "an average cost under other prices": (
        ("ask", "heart.askwise", "--stop", "average-cost=5", "--costs", "c.json"),
        {"c.json": '{"scan": 1}'},
        ["'scan' costs 1 here and 40 in training; use a budget or a penalty"],
    ),
    "an unknown question": (
        ("ask", "heart.askwise", "--answers", "a.json"),
        {"a.json": '{"scam": 1}'},
        ["did you mean 'scan'?"],
    ),
    "an impossible value": (
        ("ask", "heart.askwise", "--answers", "a.json"),
        {"a.json": '{"pain": "very"}'},
        ["'none', 'often', 'seldom'", "'very'"],
    ),
    "telling what is not open": (
        ("ask", "heart.askwise", "--answers", "a.json"),
        {"a.json": '{"answers": {"scan": 1}, "declined": ["scan"]}'},
        ["'scan' is not open"],
    ),
    "a model that is not there": (("info", "none.askwise"), {}, ["there is no model file"]),
    "an empty model": (("info", "m.askwise"), {"m.askwise": ""}, ["empty"]),
    "a table for a model": (("info", "cases.csv"), {}, ["not a whole askwise model"]),
    "an unknown dataset": (("demo", "--data", "wne"), {}, ["did you mean 'wine'?"]),
    "a file for the demo's folder": (("demo", "--out", "cases.csv"), {}, ["is a file"]),
    "an unknown command": (("trian", "cases.csv"), {}, ["trian"]),
}


def test_a_folder_for_a_picture_is_told_with_the_name_of_a_picture(run, folder):
    (folder / "dir.png").mkdir()
    said = run("verify", "--figure", "dir.png")
    assert said.exit_code == 2
    assert "dir.png is a folder; give a file to write, such as dir.png/picture.png" in said.stderr


def everything_in(folder):
    return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*")}


def check_mistake(said, folder, before, words):
    assert said.exit_code == 2, said.output
    assert said.stdout == ""
    assert "Error: " in said.stderr
    assert "Traceback" not in said.stderr
    for word in words:
        assert word in said.stderr
    assert everything_in(folder) == before


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_and_changes_nothing(run, folder, mistake):
    arguments, files, words = MISTAKES[mistake]
    for name, text in files.items():
        (folder / name).write_text(text)
    before = everything_in(folder)
    check_mistake(run(*arguments), folder, before, words)


@pytest.mark.parametrize("command", [["info"], ["ask"], ["evaluate"]])
@pytest.mark.parametrize("kind", ["pickle", "truncated", "foreign", "newer", "hollow"])
def test_a_model_file_that_is_none_is_told(run, folder, command, kind):
    path = folder / "m.askwise"
    words = {"pickle": "pickle", "foreign": "another program", "newer": "format 99"}.get(kind, "not a whole")
    if kind == "pickle":
        path.write_bytes(pickle.dumps({"a": 1}))
    elif kind == "truncated":
        path.write_bytes((folder / "heart.askwise").read_bytes()[:-100])
    else:
        header = {"newer": '{"format": 99}', "hollow": '{"format": 1}'}.get(kind)
        safetensors.torch.save_file({"a": torch.zeros(2)}, path, metadata={"askwise": header} if header else None)
    before = everything_in(folder)
    rest = ["test.csv"] if command == ["evaluate"] else []
    check_mistake(run(*command, path, *rest), folder, before, [words])
