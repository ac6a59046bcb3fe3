"""Panels of lines, and their legend."""

from nadek_paper.figures.panels import Line, lines


def test_legend_stays_within_the_picture():
    names = ("1 hidden layer", "2 hidden layers", "1 hidden layer, NADE-mask", "2 hidden layers, NADE-mask")
    curves = {name: Line(x=[1, 2, 3], y=[-1.0, -2.0, -3.0]) for name in names}
    figure = lines({"MNIST": curves}, x_label="k", y_label="nats")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_level_line_shares_its_neighbours_colour():
    along = {name: Line(x=[1, 2], y=[-1.0, -2.0]) for name in ("a", "b")}
    level = {f"{name}, level": Line([], [-1.5], [0.1], beside=name) for name in ("a", "b", "not drawn")}
    figure = lines({"panel": {**level, **along}}, x_label="k", y_label="nats")
    axes, legend = figure.axes[0], figure.legends[0]
    colours = [line.get_color() for line in axes.get_lines()]
    assert colours == [line.get_color() for line in legend.get_lines()]
    assert colours[:2] == colours[3:]
    assert len(set(colours)) == 3
    assert [tuple(band.get_bbox().intervaly) for band in axes.patches] == [(-1.6, -1.4)] * 3


def test_no_two_lines_look_alike():
    curves = {f"line {n}": Line(x=[1, 2], y=[float(n), n + 1.0]) for n in range(12)}
    figure = lines({"a": curves, "b": curves}, x_label="k", y_label="nats")
    looks = [[(line.get_color(), line.get_linestyle()) for line in axes.get_lines()] for axes in figure.axes]
    assert looks[0] == looks[1]
    assert len(set(looks[0])) == 12
