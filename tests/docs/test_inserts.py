"""The tables of the documents are what their commands print."""

import pytest

from tests.docs import fences, inserts

DOCUMENTS = [path for path in fences.pages() if inserts.BLOCK.search(path.read_text())]


@pytest.mark.slow  # it runs every command
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_current(path, capsys):
    assert inserts.main(check=True, documents=[path]) == 0, capsys.readouterr().err
