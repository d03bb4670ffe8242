"""The page of `clinfer explain --memory --html`: memory over time, in one file that asks nothing of a network."""
from __future__ import annotations

from pathlib import Path

from clinfer.cli.explain_memory import MemoryReport, as_data, pictures_of, summary
from clinfer.cli.page_file import fill_page, write_file


def write_memory_page(report: MemoryReport, target: Path) -> None:
    """Write the page of a report. Errors: ClinferError if the file cannot be written."""
    write_file(make_memory_page(report), target)


def make_memory_page(report: MemoryReport) -> str:
    """The text of the page."""
    name = Path(report.subject.model).name
    summaries = [summary(picture) for _, picture in pictures_of(report.picture)]
    data = {**as_data(report), "title": name, "summaries": summaries}
    return fill_page("memory.html", ("page.css", "memory.css"), ("memory.js",),
                     f"Memory of {name} on {report.subject.device}", data)
