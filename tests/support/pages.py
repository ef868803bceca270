"""What a page of HTML would fetch, and where its links lead."""

from html.parser import HTMLParser


class Loads(HTMLParser):
    """Collects what a page would fetch."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.ids = set()
        self.links = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if "id" in attributes:
            self.ids.add(attributes["id"])
        if tag == "a":
            self.links.append(attributes.get("href", ""))
        elif "src" in attributes or "href" in attributes:
            self.found.append((tag, attributes))


def parsed(page):
    loads = Loads()
    loads.feed(page)
    return loads
