"""The estimators are scikit-learn estimators."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from askwise import AverageCost, Budget, Confidence, DimeClassifier, DimeRegressor, Penalty

# Enough to pass the checks that ask for a decent score, and no more.
SMALL = {
    "hidden": 32, "pretrain_epochs": 4, "epochs": 1, "max_steps": 1, "batch_size": 16, "learning_rate": 0.02,
    "dropout": 0.0, "random_state": 0,
}  # fmt: skip


# Checks that are expected to fail, and why; every other one must pass.
EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": "It compares fits to the last digits. Rows are drawn at random "
    "into validation and into batches, and a repeated row is drawn otherwise than a weighted one, so that the same "
    "holds to sampling noise only: test_doubled_weights_are_doubled_rows in test_sample_weight.py.",
}


@parametrize_with_checks(
    [DimeClassifier(**SMALL), DimeRegressor(**SMALL)],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,  # noqa: ARG005
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def test_checks_of_sample_weights_are_among_those_that_run():
    names = {check.func.__name__ for _, check in estimator_checks_generator(DimeClassifier(**SMALL), mark=None)}
    about_weights = {name for name in names if "sample_weight" in name}
    assert len(about_weights - EXPECTED_TO_FAIL.keys()) >= 5
    assert EXPECTED_TO_FAIL.keys() <= names


def test_tags_declare_missing_values_strings_and_categories():
    for estimator in (DimeClassifier(), DimeRegressor()):
        tags = estimator.__sklearn_tags__().input_tags
        assert tags.allow_nan
        assert tags.string
        assert tags.categorical
    assert is_classifier(DimeClassifier())
    assert is_regressor(DimeRegressor())


def test_a_pipeline_gives_what_its_last_step_gives(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), DimeClassifier(**SMALL)).fit(X, y)
    alone = DimeClassifier(**SMALL).fit(StandardScaler().fit_transform(X), y)
    assert np.array_equal(pipeline.predict_proba(X), alone.predict_proba(StandardScaler().fit_transform(X)))
    assert pipeline.score(X, y) > 0.8


def test_a_pipeline_passes_the_rule_on(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), DimeClassifier(**SMALL)).fit(X, y)
    inner = pipeline[-1].predict(pipeline[0].transform(X), stop=Budget(1))
    assert np.array_equal(pipeline.predict(X, stop=Budget(1)), inner)


def test_pandas_output_of_earlier_steps_gives_names_and_the_same_answers(diabetes):
    X, y = diabetes
    scaler = ColumnTransformer([("scale", StandardScaler(), list(X.columns))], verbose_feature_names_out=False)
    plain = make_pipeline(scaler, DimeRegressor(**SMALL)).fit(X, y)
    named = make_pipeline(clone(scaler), DimeRegressor(**SMALL)).set_output(transform="pandas").fit(X, y)
    assert named[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert not hasattr(plain[-1], "feature_names_in_")
    assert np.array_equal(plain.predict(X), named.predict(X))


def test_cross_validation_gives_scores(iris, diabetes):
    assert cross_val_score(DimeClassifier(**SMALL), *iris, cv=3).mean() > 0.8
    assert cross_val_score(DimeClassifier(**SMALL), *iris, cv=3, scoring="neg_log_loss").mean() > -0.8
    assert cross_val_score(DimeRegressor(**SMALL), *diabetes, cv=3, scoring="r2").mean() > 0.2
    assert cross_val_predict(DimeClassifier(**SMALL), *iris, cv=3, method="predict_proba").shape == (150, 3)


def test_weights_pass_through_pipelines_cross_validation_and_searches(iris):
    """Rows of weight 0 have turned labels: whoever learnt or scored by them would be wrong."""
    X, y = iris
    weight = (np.arange(150) % 3 > 0).astype(float)
    y = np.where(weight > 0, y, 2 - y)
    with config_context(enable_metadata_routing=True):
        longer = DimeClassifier(**{**SMALL, "pretrain_epochs": 20})
        estimator = longer.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, estimator)
        kept = weight > 0
        fitted = make_pipeline(scaler, estimator).fit(X, y, sample_weight=weight)
        inner = clone(longer).fit(fitted[0].transform(X)[kept], y[kept])
        assert np.array_equal(fitted.predict_proba(X), inner.predict_proba(fitted[0].transform(X)))
        cv = StratifiedKFold(3, shuffle=True, random_state=0)
        assert cross_val_score(pipeline, X, y, cv=cv, params={"sample_weight": weight}).mean() > 0.8
        search = GridSearchCV(pipeline, {"dimeclassifier__hidden": [16]}, cv=cv, error_score="raise")
        assert search.fit(X, y, sample_weight=weight).best_score_ > 0.8


def test_a_grid_search_tunes_settings_and_the_rule_that_users_run(iris):
    X, y = iris
    grid = {"stop": [None, Budget(0), Budget(1) | Confidence(0.1), Penalty(0.01), AverageCost(2)], "hidden": [16]}
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    longer = DimeClassifier(**{**SMALL, "pretrain_epochs": 20})
    search = GridSearchCV(longer, grid, cv=cv, error_score="raise").fit(X, y)
    scores = dict(zip(map(str, search.cv_results_["param_stop"]), search.cv_results_["mean_test_score"], strict=True))
    assert scores["budget=0"] == pytest.approx(1 / 3, abs=0.02)
    assert scores["None"] > 0.8
    assert scores["budget=1|confidence=0.1"] > scores["budget=0"]
    assert np.array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_a_grid_of_numpy_numbers_works(iris):
    grid = {"hidden": np.array([8, 16]), "epsilon": np.array([0.0, 0.1])}
    search = GridSearchCV(
        DimeClassifier(**{**SMALL, "pretrain_epochs": 2, "epochs": 2}), grid, cv=2, error_score="raise"
    )
    assert search.fit(*iris).best_params_["hidden"] in (8, 16)


def test_clone_keeps_every_setting():
    settings = {
        "costs": {"a": 2}, "groups": {"g": ["a", "b"]}, "free": ["c"], "stop": Budget(3), "class_weights": "balanced",
    }  # fmt: skip
    model = DimeClassifier(**settings, **SMALL)
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(stop=Penalty(0.1)).stop == Penalty(0.1)


def test_the_constructor_stores_what_it_is_given_and_fit_does_not_change_it(cases):
    costs, groups, free = {"scan": 4}, {"test": ["rate", "pain"]}, ["age"]
    model = DimeClassifier(costs=costs, groups=groups, free=free, **SMALL)
    before = model.get_params()
    model.fit(*cases)
    assert model.costs is costs
    assert model.groups is groups
    assert model.free is free
    assert model.get_params() == before
    assert (costs, groups, free) == ({"scan": 4}, {"test": ["rate", "pain"]}, ["age"])


def test_x_and_y_are_not_changed(cases):
    X, y = cases
    X_before, y_before = X.copy(), y.copy()
    DimeClassifier(**SMALL).fit(X, y).acquire(X)
    pd.testing.assert_frame_equal(X, X_before)
    assert np.array_equal(y, y_before)


def test_missing_extra_and_reordered_columns_raise_scikit_learns_errors(clinic, cases):
    X, _ = cases
    for wrong, message in (
        (X.drop(columns="scan"), "Feature names seen at fit time, yet now missing:\n- scan"),
        (X.assign(more=1), "Feature names unseen at fit time:\n- more"),
        (X[X.columns[::-1]], "Feature names must be in the same order as they were in fit"),
    ):
        for call in (clinic.predict, clinic.predict_proba, clinic.acquire, clinic.information):
            with pytest.raises(ValueError, match=message):
                call(wrong)
        with pytest.raises(ValueError, match=message):
            clinic.curve(wrong, cases[1])


def test_an_array_of_another_width_raises_scikit_learns_error(flowers, iris):
    with pytest.raises(ValueError, match="X has 3 features, but DimeClassifier is expecting 4 features as input"):
        flowers.predict(iris[0][:, :3])


def test_names_and_an_array_meet_with_scikit_learns_warning(progression, diabetes, flowers, iris):
    X, _ = diabetes
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        found = progression.predict(X.to_numpy())
    assert np.array_equal(found, progression.predict(X))
    with pytest.warns(UserWarning, match="X has feature names, but DimeClassifier was fitted without"):
        flowers.predict(pd.DataFrame(iris[0], columns=list("abcd")))


def test_a_table_of_numbered_columns_has_no_names(iris):
    model = DimeClassifier(**SMALL).fit(pd.DataFrame(iris[0]), iris[1])
    assert not hasattr(model, "feature_names_in_")
    assert model.acquire(iris[0][:1]).known.columns.tolist() == ["x0", "x1", "x2", "x3"]


def test_what_is_not_fitted_says_so(iris):
    model = DimeClassifier()
    for call in (
        lambda: model.predict(iris[0]),
        lambda: model.acquire(iris[0]),
        lambda: model.information(iris[0]),
        lambda: model.curve(*iris),
        lambda: model.frontier(*iris),
        lambda: model.session(),
        lambda: model.frontier_,
    ):
        with pytest.raises(NotFittedError):
            call()


def test_an_estimator_survives_joblib(clinic, cases, tmp_path):
    joblib.dump(clinic, tmp_path / "m.joblib")
    again = joblib.load(tmp_path / "m.joblib")
    X, _ = cases
    assert np.array_equal(again.predict_proba(X, stop=AverageCost(9)), clinic.predict_proba(X, stop=AverageCost(9)))
    assert again.session().ask() == clinic.session().ask()


def test_fitting_again_forgets_the_first_fit(iris, diabetes):
    model = DimeClassifier(**SMALL).fit(*iris)
    X, y = diabetes
    model.fit(X, y > 140)
    assert model.classes_.tolist() == [False, True]
    assert model.n_features_in_ == 10
    assert model.feature_names_in_.tolist() == X.columns.tolist()


def test_a_list_of_lists_is_a_table(iris):
    X, y = iris
    model = DimeClassifier(**SMALL).fit(X.tolist(), y.tolist())
    assert np.array_equal(model.predict(X), DimeClassifier(**SMALL).fit(X, y).predict(X))


def test_a_list_of_lists_with_text_and_numbers_keeps_both():
    rows = [[i % 2, "left" if i % 2 else "right"] for i in range(40)]
    model = DimeClassifier(**SMALL).fit(rows, [i % 2 for i in range(40)])
    assert [c.kind for c in model.model_.schema.columns] == ["number", "category"]
    assert model.predict([[1, "left"]]).tolist() == [1]


def test_a_column_as_target_warns_and_works(iris):
    X, y = iris
    with pytest.warns(UserWarning, match="column-vector y"):
        model = DimeClassifier(**SMALL).fit(X, y[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(X).shape == (150,)


def test_a_table_that_turns_into_pandas_is_a_table(diabetes, progression):
    class Foreign:
        """What polars and others offer."""

        def __init__(self, frame):
            self.frame = frame

        def to_pandas(self):
            return self.frame

    assert np.array_equal(progression.predict(Foreign(diabetes[0])), progression.predict(diabetes[0]))
