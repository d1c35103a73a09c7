from fabro.dot.span import Source


def test_lines_and_columns_count_from_one() -> None:
    source = Source("w.fabro", "ab\ncd\n")
    assert (source.span(0).line, source.span(0).column) == (1, 1)
    assert (source.span(4).line, source.span(4).column) == (2, 2)
    assert (source.span(6).line, source.span(6).column) == (3, 1)


def test_a_line_has_no_line_end() -> None:
    source = Source("w.fabro", "ab\r\ncd")
    assert [source.line(number) for number in (0, 1, 2, 3)] == ["", "ab", "cd", ""]


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert Source("w.fabro", "\ufeffx").text == "x"
