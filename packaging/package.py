"""Makes the packages of a release from a program that is built: `package.py --binary FILE --out FOLDER`. scripts/release calls it."""

import argparse
import hashlib
import json
import os
import pathlib
import sys

import bill_of_materials
import deb
import generated
import image
import npm
import wheel
from release import ROOT, Entry, Release, ReleaseError, checked_version, compressed, run, tar

KINDS = ("archive", "deb", "npm", "wheel", "image")


def archive(release, documents):
    """The program with its completions and manual pages, for everything that is no package."""
    top = f"peristyle-{release.version}-{release.machine}-linux"
    entries = [Entry(f"{top}/bin/peristyle", release.binary.read_bytes(), 0o755)]
    entries += [Entry(f"{top}/completions/{name}", data) for name, data in generated.completions(release).items()]
    entries += [Entry(f"{top}/man/man1/{name}", data) for name, data in generated.manual_pages(release).items()]
    entries += [Entry(f"{top}/{name}", (ROOT / name).read_bytes()) for name in ("LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md")]
    entries += [Entry(f"{top}/{name}", data) for name, data in documents.items()]
    path = release.out / f"{top}.tar.gz"
    path.write_bytes(compressed(tar(entries, release), release))
    return path


def parse(words):
    parser = argparse.ArgumentParser(prog="package.py", description="Makes the packages of a release from a program that is built.")
    parser.add_argument("--binary", required=True, type=pathlib.Path, help="the program, stripped")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="the folder for the packages")
    parser.add_argument("--version", help="another version than that of Cargo.toml, to test an upgrade")
    parser.add_argument("--only", choices=KINDS, action="append", help="one kind of package; may be repeated")
    parser.add_argument("--uncompressed", action="store_true", help="store files without compression, to test fast")
    return parser.parse_args(words)


def main(words):
    arguments = parse(words)
    if "SOURCE_DATE_EPOCH" not in os.environ:
        raise ReleaseError("SOURCE_DATE_EPOCH is not set: the seconds of the commit are expected")
    if not arguments.binary.is_file():
        raise ReleaseError(f"--binary {arguments.binary}: there is no such file")
    known = json.loads(run("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--offline", cwd=ROOT))
    version = arguments.version or next(package["version"] for package in known["packages"] if package["name"] == "peristyle")
    arguments.out.mkdir(parents=True, exist_ok=True)
    level = 0 if arguments.uncompressed else 9
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    release = Release(checked_version(version), epoch, arguments.binary.resolve(), arguments.out.resolve(), level)

    crates = bill_of_materials.metadata(release)
    bill = bill_of_materials.document(release, crates)
    documents = {"peristyle.cdx.json": bill, "THIRD-PARTY-LICENSES.txt": bill_of_materials.licence_texts(crates)}
    builders = {"archive": archive, "deb": deb.build, "npm": npm.build, "wheel": wheel.build, "image": image.build}
    made = [builders[kind](release, documents) for kind in arguments.only or KINDS]
    path = release.out / f"peristyle-{release.version}.cdx.json"
    path.write_bytes(bill)
    made.append(path)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made))
    (release.out / "SHA256SUMS").write_text(sums)
    for path in sorted(made):
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.name}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ReleaseError as error:
        sys.exit(f"release: {error}")
