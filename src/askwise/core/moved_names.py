"""Where the modules and names of earlier releases are now, as tables; all paths are within askwise."""

from __future__ import annotations

# A module that is elsewhere as it was: its path of before, and its path now.
MOVED = {
    "benchmark.files": "studies.compare.files",
    "benchmark.image_data": "studies.compare.image_data",
    "benchmark.plan": "studies.compare.plan",
    "benchmark.run": "studies.compare.run",
    "bundle": "model.file",
    "calibration_plots": "report.plots.calibration",
    "case_plots": "report.plots.cases",
    "data.files": "data.tables.files",
    "data.image_files": "data.images.files",
    "data.pictures": "data.images.pictures",
    "data.prices": "data.tables.prices",
    "data.public": "data.tables.public",
    "data.questions": "data.tables.questions",
    "data.sketches": "data.images.sketches",
    "data.split": "data.tables.split",
    "description": "model.description",
    "errors": "core.errors",
    "export": "model.onnx",
    "fetching": "session.fetching",
    "files": "data.whole_file",
    "image_cases": "evaluation.image_cases",
    "methods.dime_image": "methods.dime.images",
    "methods.hard_attention": "methods.images.hard_attention",
    "methods.image": "methods.images.method",
    "methods.image_baselines": "methods.images.baselines",
    "methods.image_inputs": "methods.images.inputs",
    "methods.teams": "methods.cmicot_search",
    "patches": "data.images.patches",
    "replies": "session.replies",
    "report_page": "report.page",
    "service.guard": "service.access",
    "service.kept": "service.stored_session",
    "service.refusals": "service.errors",
    "service.sessions": "service.session_store",
    "service.watch": "service.request_logging",
    "stopping": "core.stopping",
    "summaries": "evaluation.summaries",
    "tasks": "core.tasks",
    "verification": "evaluation.known_truth",
    "verification_plots": "studies.verify.plots",
    "verification_trials": "studies.verify.trials",
}

# A module that became a package or was divided: its path of before, and the modules that have its names now.
# A name that has changed is written old=new. The functions evaluation.metrics and evaluation.frontier are missing:
# modules have these paths now.
DIVIDED = {
    "acquisition": {
        "core.step": "NOTHING_LEFT Step StoppingRule askable parts_of propose reasons rule_name",
        "core.trace": "MOST_STANDING Stop Trace rollout",
        "core.walk": "NEAR NEAR_THRESHOLD Walk explore random_open walk",
    },
    "arrays": {
        "core.arrays": "Array SOFTPLUS_IS_LINEAR among=mask_with_neg_inf any_in_row at_least_zero both largest like "
        "log_softmax namespace sigmoid softplus",
        "core.tensors": "at_least_float32 full_precision keep_memory",
    },
    "benchmark": {"studies.compare": "Comparison Dataset ImageData TableData compare named"},
    "benchmark.cells": {
        "studies.compare.cells": "Cell Contestant=Candidate EXACT_ROWS Exact=ExactCandidate Record TURN=ONE_CELL "
        "Trained=EstimatorCandidate VALIDATION_FRACTION failure measure outcome_of=run_cell",
        "studies.processes": "STAGES",
    },
    "benchmark.data": {
        "studies.compare.budgets": "COUNTS N_BUDGETS budgets_for",
        "studies.compare.data": "Dataset FEWEST_PEOPLE=FEWEST_SUBJECTS MOST_FRESH_ROWS Split TEST_FRACTION TableData "
        "digest fit_and_test main_metric people=subject_numbers",
        "studies.compare.named_data": "DEFAULT_ROWS FEWEST_ROWS FRESH_ROWS FRESH_SEEDS KnownData "
        "TOLD_BY_ROWS=FINGERPRINT_ROWS is_named named",
    },
    "benchmark.plots": {
        "studies.compare.method_styles": "CEILING_STYLE DOTS OTHERS SHORT_DASH STYLES Style",
        "studies.compare.plots": "LEGEND_COLUMN LEGEND_LINE MOST_COLUMNS MOST_TICKS PANEL_HEIGHT PANEL_WIDTH "
        "comparison",
    },
    "benchmark.tables": {
        "studies.compare.markdown": "HOW_TO_READ PLACES markdown",
        "studies.compare.tables": "AVERAGE BUDGET FEWEST_SEEDS REFERENCES RULES SIGNIFICANT areas ceilings "
        "on_equal_terms=methods_with_all_seeds ordered seconds standings summary with_scores",
        "studies.compare.wording": "AS_GOOD FEWEST_TESTED RANDOM UNTOLD=TOO_FEW_SEEDS behind_text by_penalties "
        "cautions metric_heading score_text",
    },
    "calibration": {
        "evaluation.calibration": "BARS Calibration MOST_RECORDS MOST_ROWS QUESTIONS Z calibration confidence_counts "
        "drawn_ece number_reliability perfect_ece reliability telling_budget=calibration_budget",
        "evaluation.estimates": "estimates_summary realised realised_bins",
    },
    "data.images": {
        "data.images.schema": "DRAW ImageSchema OWN PIXELS PixelColumn SketchColumn schema_from_dict",
    },
    "data.table": {
        "data.tables.column": "BOOLEAN CATEGORY Column MOST_CATEGORIES NUMBER TRUE_WORDS WIDEST category_key describe "
        "is_missing",
        "data.tables.answers": "ordered",
        "data.tables.groups": "GroupSpec",
        "data.tables.schema": "Schema",
    },
    "evaluation": {
        "evaluation.areas": "area_under_curve",
        "evaluation.curves": "brings=cost_and_metrics curve",
        "evaluation.frontier": "FINE_POINTS KEPT_ROWS keep_frontier",
        "evaluation.metrics": "BINS METRICS Metric=MetricFunction accuracy as_labelled auroc bin_sums "
        "bootstrap_draws brier coded equal_mass_bins expected_calibration_error log_loss r2 rmse without_last_bits",
        "evaluation.thresholds": "MOST_LEVELS",
    },
    "features": {"core.features": "FeatureSpace", "core.rows": "Rows evenly"},
    "image_plots": {
        "report.plots.image_case": "LONGEST_LINE MARKERS MOMENTS MOST_LINES MOST_MARKERS draw_case",
        "report.plots.images": "case_picture draw_examples draw_selection examples_picture selection_map "
        "selection_picture",
        "report.plots.patches": "COVER GREY HEAT LARGEST LINES SHOWS SKETCHED SMALLEST draw_patches end_of",
        "report.plots.style": "LETTER",
    },
    "methods.base": {
        "methods.fingerprint": "TRAINING",
        "methods.preparation": "MOST_VALIDATION_ROWS",
        "methods.settings": "CIRCUMSTANCES Estimator",
    },
    "methods.dime": {
        "methods.dime.base": "Dime FIRST_VALUE",
        "methods.dime.objectives": "JointObjective ValueWarmUp",
        "methods.dime.policy": "DimePolicy",
        "methods.dime.tables": "DimeClassifier DimeRegressor TableDime",
    },
    "methods.registry": {"methods.loading": "load"},
    "model": {"model.session_model": "Costs"},
    "networks.backbones": {
        "networks.build_backbone": "brought_into_form=adapt_network build_backbone",
        "networks.own_backbones": "CNN_WIDTHS OWN SLIP",
        "networks.timm_backbone": "TimmBackbone",
    },
    "plots": {
        "report.plots.axes": "WIDE_RANGE",
        "report.plots.curves": "SMALLEST_PENALTY cost_curve frontier metric_curves",
        "report.plots.questions": "selection_heatmap stop_reasons",
        "report.plots.style": "AMBER BLUE CATEGORIES DPI GREEN INK LONGEST_NAME METRIC_WORDS ORANGE OTHERS=SPARE PALE "
        "PURPLE RULES SKY SOFT colour_legend diagonal metric_text new_figure number_text panel_words plain "
        "require_matplotlib tidy verdict",
    },
    "policy": {"core.belief": "Belief OneRow", "core.policy": "Policy TorchRow Tracker"},
    "processes": {
        "studies.processes": "Done=SharedProgress SECONDS_UNTOLD=REPORT_SECONDS "
        "leave_interrupts_to=ignore_interrupts_in_workers telling=report_regularly",
    },
    "report": {
        "report.findings": "Findings MOST_ROWS",
        "report.report": "CURVE_SHARE Report make_report write_report",
    },
    "report_calibration": {
        "report.beside": "check_beside",
        "report.calibration": "BY_CHANCE FACTS ON_AVERAGE Trust=Calibrations drawings measure section sentences tables",
    },
    "report_cases": {
        "report.cases": "Asked=AcquiredSample Cases",
        "report.image_cases": "IMAGES_SHOWN ImageCases",
        "report.table_cases": "MOST_QUESTIONS TableCases",
    },
    "session": {
        "session.messages": "Candidate Event Prediction Question",
        "session.row": "Row",
        "session.session": "HasModel Moment Session",
    },
    "training.loop": {
        "core.rows": "even_batches placed=to_device_if_fits",
        "training.draws": "hash_seed",
        "core.tensors": "evaluating",
        "training.modes": "frozen learn_with=set_training_mode swapped=swapped_weights threads",
        "training.stage": "SECONDS_UNTOLD=SECONDS_BETWEEN_REPORTS",
    },
}
