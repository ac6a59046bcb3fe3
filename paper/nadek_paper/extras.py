"""What a page of results tells beside its tables: where rows differ from the paper, and pictures. From files only."""

from pathlib import Path

from nadek_paper.figures import read_pictures
from nadek_paper.rows import Row


def notes_of(rows: list[Row]) -> str:
    """Every note of the rows once, in the order of the rows, with the rows that it is about."""
    of_note: dict[str, list[Row]] = {}
    for row in rows:
        for note in row.notes:
            of_note.setdefault(note, []).append(row)
    networks = [row for row in rows if row.recipes.paper is not None]
    lines = []
    for note, about in of_note.items():
        whose = "All networks of the paper" if about == networks else ", ".join(row.title for row in about)
        lines.append(f"- *{whose}*: {note}.")
    return "\n".join(lines)


def pictures_of(experiments: Path, page: Path) -> dict[str, str]:
    """Name -> what shows a picture on a page; those that were not made are left out."""
    shown = {}
    for picture in read_pictures(experiments) if list(experiments.glob("figures/*.toml")) else []:
        record, file = experiments / "results" / f"figures-{picture.name}.json", f"pictures/{picture.name}.png"
        if record.is_file() and (page.parent / file).is_file():
            notes = "".join(f" {note[0].upper()}{note[1:]}." for note in picture.notes)
            shown[picture.name] = f"![{picture.title}]({file})\n\n*{picture.title}.{notes}*"
    return shown
