"""Prometheus metrics of this process: totals and times, never by cell, version, ticket, campaign or address."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from sfumato.collect.service.store import Outcome

_COMMIT_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


class Metrics:
    """The numbers and their registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        reports = Counter("sfumato_reports", "Reports by what became of them.", ["outcome"], registry=self.registry)
        self.reports = {outcome: reports.labels(outcome.value) for outcome in Outcome}
        batches = Counter(
            "sfumato_relayed_batches", "Relayed batches by what became of them.", ["outcome"], registry=self.registry
        )
        self.relayed_batches = {outcome: batches.labels(outcome.value) for outcome in Outcome}
        self.refused_tickets = Counter(
            "sfumato_tickets_refused", "Reports with a forged or expired ticket.", registry=self.registry
        )
        self.tickets = Counter("sfumato_tickets_issued", "Tickets issued.", registry=self.registry)
        self.closed_cycles = Counter("sfumato_cycles_closed", "Cycles closed by this process.", registry=self.registry)
        self.merged_cycles = Counter(
            "sfumato_cycles_merged", "Cycles that were due without enough tickets.", registry=self.registry
        )
        self.failed_commits = Counter("sfumato_commits_failed", "Commits given up.", registry=self.registry)
        self.failed_estimates = Counter("sfumato_estimates_failed", "Estimates that failed.", registry=self.registry)
        self.alarms = Gauge(
            "sfumato_alarms", "Campaigns whose latest cycle raised the poisoning alarm.", registry=self.registry
        )
        self.commit_seconds = Histogram(
            "sfumato_commit_seconds", "Time of one group commit.", buckets=_COMMIT_S, registry=self.registry
        )
        self.reports_in_commit = Histogram(
            "sfumato_reports_in_commit", "Reports in one group commit.", buckets=_SIZES, registry=self.registry
        )
        self.estimate_seconds = Histogram("sfumato_estimate_seconds", "Time of one estimate.", registry=self.registry)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
