"""What is opened as a model, and what never is."""


def test_pickles_are_refused_with_the_way_to_convert(run, tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"\x80\x04.")
    code, _, err = run("probe", tmp_path / "weights.pt")
    assert code == 2
    assert "safe_serialization=True" in err
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    code, _, err = run("probe", folder)
    assert code == 2
    assert "pickled" in err
