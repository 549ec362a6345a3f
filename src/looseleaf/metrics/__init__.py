"""Metrics: one declaration each, evaluated over rows so that denominators cannot shrink."""

from looseleaf.metrics.catalogue import METRICS, metric_named
from looseleaf.metrics.metric import UNDEFINED, UNSCORED, Metric, Ratio
from looseleaf.metrics.row import Row, rows_of
from looseleaf.metrics.table import MetricTable, MetricValue, evaluate, evaluate_rows

__all__ = [
    "METRICS",
    "UNDEFINED",
    "UNSCORED",
    "Metric",
    "MetricTable",
    "MetricValue",
    "Ratio",
    "Row",
    "evaluate",
    "evaluate_rows",
    "metric_named",
    "rows_of",
]
