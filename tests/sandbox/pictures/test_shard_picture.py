"""The picture of who holds which rows says the same in words, drawing and plain text."""

from drawing import elements, parse, texts

from sandbox.pictures.shard_picture import ShardPicture

PICTURE = ShardPicture([range(0, 2), range(2, 4), range(4, 5), range(5, 5)])


def test_the_sentence_counts_rows_and_padding():
    assert repr(PICTURE) == "5 rows on 4 ranks, by rank: 2, 2, 1, 0. A gather moves 8."


def test_every_row_and_every_padding_row_is_drawn_once():
    root = parse(PICTURE.picture())
    rectangles = elements(root, "rect")
    hatched = [node for node in rectangles if node.attrib["fill"].startswith("url(#hatch")]
    assert (len(rectangles), len(hatched)) == (8, 3)
    ranks = ["rank 0", "rank 1", "rank 2", "rank 3"]
    assert texts(root)[1:] == [
        *(ranks[0], "0", "1"),
        *(ranks[1], "2", "3"),
        *(ranks[2], "4"),
        ranks[3],
    ]


def test_no_rows_at_all_still_draw():
    assert (
        "0 rows on 2 ranks" in ShardPicture([range(0), range(0)])._repr_mimebundle_()["text/html"]
    )
