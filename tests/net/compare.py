"""``compare.py A.json B.json``: which results differ, by name and with values. Exit code 1 if any.

``--all`` prints all of them (else 40 of each sort), ``--values`` the plain values of both sides, too.
Numbers "to rounding" differ by less than 1e-5 of the largest value: judge these first.
"""

import argparse
import difflib
import json
import sys


def away(a, b):
    """Largest difference of the plain values, absolute and beside the largest value; None if there is none to tell."""
    if a["what"] != b["what"] or len(a["values"]) != len(b["values"]):
        return None
    pairs = list(zip(a["values"], b["values"], strict=True))
    if any(type(x) is not type(y) or (isinstance(x, str) and x != y) for x, y in pairs):
        return None
    both = [(x, y) for x, y in pairs if isinstance(x, float)]
    far = max((abs(x - y) for x, y in both), default=0.0)
    return far, far / max([1e-300, *(abs(x) for x, _ in both)])


def text_difference(a, b, wide=110):
    for one, other in zip(a.splitlines() or [""], b.splitlines() or [""]):
        if one != other:
            place = next((i for i, (x, y) in enumerate(zip(one, other)) if x != y), min(len(one), len(other)))
            start = max(0, place - 30)
            return f"    - {one[start : start + wide]}\n    + {other[start : start + wide]}"
    lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=0))[2:8]
    return "\n".join(f"    {line[:wide]}" for line in lines) or "    (beyond what is kept of the text)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--values", action="store_true")
    told = parser.parse_args()
    a, b = (json.load(open(name)) for name in (told.a, told.b))
    most = None if told.all else 40
    found = {"numbers differ": [], "numbers differ (to rounding)": [], "text differs": [], "missing": []}
    for name in sorted({*a, *b}):
        if name not in b:
            found["missing"].append(f"{name}: not in {told.b}")
        elif name not in a:
            found["missing"].append(
                f"{name}: not in {told.a}" + (f": {b[name]['text'][:150]}" if "BROKE" in name else "")
            )
        elif a[name] == b[name]:
            continue
        elif a[name]["kind"] == b[name]["kind"] == "numbers":
            far = away(a[name], b[name])
            small = far is not None and far[1] < 1e-5
            what = (
                f"{a[name]['what']} -> {b[name]['what']}"
                if far is None
                else f"by {far[0]:.3g} ({far[1]:.2g} of the largest shown)"
            )
            if far is not None and far[0] == 0:
                what = "in values that are not shown"
            line = f"{name}: {what}"
            if told.values or far is None:
                line += f"\n    - {a[name]['values']}\n    + {b[name]['values']}"
            found["numbers differ (to rounding)" if small else "numbers differ"].append(line)
        else:
            parts = [one.get("text", str(one.get("values"))) for one in (a[name], b[name])]
            found["text differs"].append(f"{name}:\n{text_difference(*parts)}")
    for sort, lines in found.items():
        if lines:
            print(f"== {sort}: {len(lines)}")
            print("\n".join(lines[:most]))
            if most and len(lines) > most:
                print(f"... and {len(lines) - most} more (--all)")
    n = sum(map(len, found.values()))
    print(f"{len(a)} and {len(b)} results; " + (f"{n} differ" if n else "all the same"))
    sys.exit(n > 0)


if __name__ == "__main__":
    main()
