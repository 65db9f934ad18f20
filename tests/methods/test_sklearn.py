"""The estimators are scikit-learn estimators."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from askwise import DimeClassifier, DimeRegressor

SMALL = {"hidden": 16, "pretrain_epochs": 20, "epochs": 4, "batch_size": 32, "learning_rate": 0.02, "random_state": 0}


@parametrize_with_checks([DimeClassifier(**SMALL), DimeRegressor(**SMALL)])
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)
