"""The crates that are compiled into the program: a bill of materials in CycloneDX, and their licence texts."""

import collections
import datetime
import json
import pathlib
import tomllib
import uuid

from release import LICENCE, ROOT, SUMMARY, ReleaseError, run

# The names of the files that hold a licence or a notice.
LICENCE_FILES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def metadata(release):
    """What cargo knows of our crates and of all that they use on this kind of machine."""
    target = f"{release.machine}-unknown-linux-gnu"
    text = run("cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", target, cwd=ROOT)
    return json.loads(text)


def compiled_in(known):
    """The packages that the program is made of, and the ids that each of them uses. Tools of the build and of tests are left out."""
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    program = next(id for id, package in packages.items() if package["name"] == "peristyle" and package["source"] is None)
    uses, open_ids = {}, [program]
    while open_ids:
        here = open_ids.pop()
        if here in uses:
            continue
        normal = [used["pkg"] for used in nodes[here]["deps"] if any(kind["kind"] is None for kind in used["dep_kinds"])]
        # A procedural macro runs in the compiler.
        uses[here] = [id for id in normal if not any("proc-macro" in target["kind"] for target in packages[id]["targets"])]
        open_ids += uses[here]
    return program, {id: packages[id] for id in uses}, uses


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    described = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["license"]:
        # Old crates write `MIT/Apache-2.0`.
        described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    elif package["license_file"]:
        # The crate names a file instead, and THIRD-PARTY-LICENSES.txt has its text.
        described["licenses"] = [{"license": {"name": package["license_file"]}}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        described["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return described


def document(release, known):
    """The bill of materials as bytes. The same sources give the same bytes."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in locked["package"]}
    program, packages, uses = compiled_in(known)
    others = sorted((package for id, package in packages.items() if id != program), key=reference)
    body = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(release.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": reference(packages[program]),
                "name": "peristyle",
                "version": release.version,
                "description": SUMMARY,
                "licenses": [{"expression": LICENCE}],
            },
        },
        "components": [component(package, checksums) for package in others],
        "dependencies": sorted(
            ({"ref": reference(packages[id]), "dependsOn": sorted({reference(packages[used]) for used in used_ids})} for id, used_ids in uses.items()),
            key=lambda entry: entry["ref"],
        ),
    }
    content = json.dumps(body, sort_keys=True)
    body["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_OID, content).urn
    return (json.dumps(body, indent=1, sort_keys=True) + "\n").encode()


def licence_texts(known):
    """One text with the licence files of all crates. A text that several crates share stands there once."""
    program, packages, _ = compiled_in(known)
    holders, silent = collections.defaultdict(set), []
    for id, package in packages.items():
        if package["source"] is None:
            continue
        folder = pathlib.Path(package["manifest_path"]).parent
        if not folder.is_dir():
            raise ReleaseError(f"the sources of {package['name']} are missing; run: cargo fetch --locked")
        name = f"{package['name']} {package['version']}"
        files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.upper().startswith(LICENCE_FILES)]
        for path in files:
            holders[path.read_text(errors="replace").strip()].add(name)
        if not files:
            silent.append(f"{name}: {package['license']}, by {', '.join(package['authors']) or 'its authors'}")
    parts = ["The program contains these crates. Their licences follow."]
    parts += ["\n".join(["Crates without a licence file:", *sorted(silent)])] if silent else []
    parts += ["\n".join(sorted(names)) + "\n\n" + text for text, names in sorted(holders.items(), key=lambda entry: sorted(entry[1]))]
    return ("\n\n" + "=" * 80 + "\n\n").join(parts).encode() + b"\n"
