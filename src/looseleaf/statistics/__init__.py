"""Intervals, tests and estimates for questions that come in documents.

Questions of one document are not independent, so the document is the sampling unit of every headline number. What
assumes independent questions says so in its `method`.
"""

from looseleaf.statistics.bootstrap import (
    RESAMPLES,
    BootstrapInterval,
    bootstrap_ratios,
    percentile_interval,
    resample_blocks,
    resample_weights,
)
from looseleaf.statistics.clusters import Clusters
from looseleaf.statistics.conditional import ConditionalSplit, split_conditional_rate
from looseleaf.statistics.difference import Difference, paired_difference
from looseleaf.statistics.distributions import student_t_quantile
from looseleaf.statistics.interval import (
    INDEPENDENT,
    LEVEL,
    MIN_CLUSTERS,
    Interval,
    independent_interval,
    wilson_interval,
)
from looseleaf.statistics.multiple import holm
from looseleaf.statistics.paired import TestResult, mcnemar_test, obuchowski_test, sign_flip_test
from looseleaf.statistics.power import SampleSize, sample_size
from looseleaf.statistics.ratio import clustered_mean_interval, clustered_ratio_interval
from looseleaf.statistics.seeds import SeedSummary, seed_summary
from looseleaf.statistics.stratified import Estimate, Stratum, stratified_ratio

__all__ = [
    "INDEPENDENT",
    "LEVEL",
    "MIN_CLUSTERS",
    "RESAMPLES",
    "BootstrapInterval",
    "Clusters",
    "ConditionalSplit",
    "Difference",
    "Estimate",
    "Interval",
    "SampleSize",
    "SeedSummary",
    "Stratum",
    "TestResult",
    "bootstrap_ratios",
    "clustered_mean_interval",
    "clustered_ratio_interval",
    "holm",
    "independent_interval",
    "mcnemar_test",
    "obuchowski_test",
    "paired_difference",
    "percentile_interval",
    "resample_blocks",
    "resample_weights",
    "sample_size",
    "seed_summary",
    "sign_flip_test",
    "split_conditional_rate",
    "stratified_ratio",
    "student_t_quantile",
    "wilson_interval",
]
