"""The tables of the documents are what their commands print."""

import pytest

from tests.docs import fences, inserts

DOCUMENTS = [path for path in fences.pages() if inserts.BLOCK.search(path.read_text())]


@pytest.mark.slow  # it runs every command; the test below has what finds and replaces their output
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_current(path, capsys):
    assert inserts.main(check=True, documents=[path]) == 0, capsys.readouterr().err


def test_a_block_is_replaced_and_checked(tmp_path):
    path = tmp_path / "page.md"
    block = "a\n<!-- output of: python -c 'print(6 * 7)' -->\n{}<!-- end -->\nb\n"
    path.write_text(block.format("old\n"))
    assert inserts.main(check=True, documents=[path]) == 1
    assert "old" in path.read_text()
    assert inserts.main(check=False, documents=[path]) == 0
    assert path.read_text() == block.format("\n42\n\n")
    assert inserts.main(check=True, documents=[path]) == 0
