"""Addresses of one page, written in many ways, and addresses of other pages."""

WRITTEN = [
    "https://news.example/a/b?id=7&x=%C3%BC",
    "HTTPS://News.EXAMPLE/a/b?id=7&x=%C3%BC",
    "http://news.example/a/b?id=7&x=%C3%BC",
    "https://news.example:443/a/b?id=7&x=%C3%BC",
    "http://news.example:80/a/b?id=7&x=%C3%BC",
    "http://news.example:443/a/b?id=7&x=%C3%BC",
    "https://news.example./a/b?id=7&x=%C3%BC",
    "https://news.example/a/./c/../b?id=7&x=%C3%BC",
    "https://news.example/%61/b?id=7&x=%c3%bc",
    "https://news.example/a/b?id=7&x=ü",
    "https://news.example/a/b?x=%C3%BC&id=7",
    "https://news.example/a/b?id=7&x=%C3%BC#top",
    "https://news.example/a/b?id=7&x=%C3%BC#!/other",
    "https://news.example/a/b?utm_source=rss&id=7&fbclid=1&x=%C3%BC&UTM_Medium=x&%75tm_term=y",
    "https://news.example/a/b?id=7&x=%C3%BC&",
]
OTHERS = [
    "https://news.example/a/b",
    "https://news.example/a/b?id=8",
    "https://www.news.example/a/b?id=7",
    "https://news.example:8443/a/b?id=7",
    "https://news.example/A/b?id=7",
    "https://news.example/a%2Fb?id=7",
    "https://news.example/a/b?id=7&id=8",
    "https://evil.example/https://news.example/a/b?id=7",
]
