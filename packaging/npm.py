"""The npm package: the program itself is the command, so no Node process stands between the terminal and it."""

import json

from release import LICENCE, ROOT, SUMMARY, Entry, compressed, tar


def build(release, documents):
    described = {
        "name": "peristyle",
        "version": release.version,
        "description": SUMMARY,
        "license": LICENCE,
        "bin": {"peristyle": "bin/peristyle"},
        "files": ["bin"],
        "os": ["linux"],
        "cpu": [release.npm_machine],
        "libc": ["glibc"],
    }
    entries = [
        Entry("package/package.json", (json.dumps(described, indent=2) + "\n").encode()),
        Entry("package/bin/peristyle", release.binary.read_bytes(), 0o755),
        Entry("package/README.md", (ROOT / "packaging/README.package.md").read_bytes()),
        *(Entry(f"package/{name}", (ROOT / name).read_bytes()) for name in ("LICENSE-MIT", "LICENSE-APACHE")),
        *(Entry(f"package/{name}", data) for name, data in documents.items()),
    ]
    path = release.out / f"peristyle-{release.version}.tgz"
    path.write_bytes(compressed(tar(entries, release), release))
    return path
