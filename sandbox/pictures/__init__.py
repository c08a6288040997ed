"""Draw what ranks did and hold: one visual language, from plain data alone, without a browser."""
