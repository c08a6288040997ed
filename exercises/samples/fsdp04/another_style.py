"""Right, in another style: interleaved ids, the record as sha256sum writes it, renamed in last."""


def sample_ids(step, rank, world_size, config):
    share = config["global_batch_size"] // world_size
    epoch, place = divmod(step, config["num_samples"] // config["global_batch_size"])
    generator = torch.Generator().manual_seed(7_919 * config["seed"] + epoch)
    own = torch.randperm(config["num_samples"], generator=generator)[rank::world_size]
    return own[place * share : (place + 1) * share].tolist()


def describe_files(directory):
    lines = []
    for path in sorted(Path(directory).rglob("*")):
        if path.is_file() and not path.name.startswith("SHA256SUMS"):
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            lines.append(f"{digest} {len(content)} {path.relative_to(directory)}")
    return "\n".join(lines)


def write_record(directory):
    new = Path(directory, "SHA256SUMS.new")
    new.write_text(describe_files(directory))
    os.replace(new, Path(directory, "SHA256SUMS"))


def is_complete(directory):
    record = Path(directory, "SHA256SUMS")
    return record.is_file() and record.read_bytes() == describe_files(directory).encode()
