"""Smart accounts of known code, and how they execute calls.

Each account makes exactly the requested calls, in order and once each, and reverts if one fails. A proxy is identified
by the hashes of its own code and its implementation's code. An EIP-7702 account is identified by its delegate's
address. The data comes from the published packages that the comments name. Tests deploy the packages and compare.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from chains.families.evm.abi import selector

EXECUTE = selector("execute(address,uint256,bytes)")
BATCH_OF_TWO_ARRAYS = selector("executeBatch(address[],bytes[])")
BATCH_OF_THREE_ARRAYS = selector("executeBatch(address[],uint256[],bytes[])")
BATCH_OF_STRUCTS = selector("executeBatch((address,uint256,bytes)[])")
EXECUTE_STRUCT = selector("execute((address,uint256,bytes))")
EXECUTE_BY_MODE = selector("execute(bytes32,bytes)")  # ERC-7579
EXEC_TRANSACTION = selector(  # of a Safe
    "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"
)

# The EntryPoint contracts of ERC-4337, v0.6 to v0.9. Each has the same address on every chain. Without a trace, only
# their events prove which operation wrote a log. Packages: @account-abstraction/contracts 0.6.0 to 0.9.0.
ENTRY_POINTS = frozenset(
    {
        "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789",
        "0x0000000071727De22E5E9d8BAf0edAc6f37da032",
        "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108",
        "0x433709009B8330FDa32311DF1C2AFA402eD8D009",
    }
)

# MultiSend and MultiSendCallOnly 1.3.0 (at two addresses), 1.4.1 and 1.5.0. Package: @safe-global/safe-deployments.
MULTI_SENDS = frozenset(
    {
        "0xA238CBeb142c10Ef7Ad8442C6D1f9E89e07e7761",
        "0x998739BFdAAdde7C933B942a68053933098f9EDa",
        "0x40A2aCCbd92BCA938b02010E17A5b8929b49130D",
        "0xA1dabEF33b3B82c7814B6D82A79e50F4AC44102B",
        "0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526",
        "0x9641d764fc13c8B624c04430C7356C1C7C8102e2",
        "0x218543288004CD07832472D464648173c77D7eB7",
        "0xA83c336B20401Af773B6219BA5027174338D1836",
    }
)

# The storage slots that contain a Safe proxy's singleton, a Safe's transaction guard
# (keccak256("guard_manager.guard.address")) and an ERC-1967 proxy's implementation.
SINGLETON_SLOT = "0x" + "00" * 32
GUARD_SLOT = "0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8"
IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"

# Code hashes. Packages: @gnosis.pm/safe-contracts 1.3.0, @safe-global/safe-contracts 1.4.1 and
# @safe-global/safe-smart-account 1.5.0; the singletons match @safe-global/safe-deployments.
_SAFE_PROXIES = frozenset(
    {
        "0xb89c1b3bdf2cf8827818646bce9a8f6e372885f8c55e5c07acbd307cb133b000",  # 1.3.0
        "0xd7d408ebcd99b2b70be43e20253d6d92a8ea8fab29bd3be7f55b10032331fb4c",  # 1.4.1
        "0x4e381985ca68b3e5d27b4425fa581c19cf33146d3f887a3cfca96f55528ea46f",  # 1.5.0
    }
)
_SAFES = frozenset(
    {
        "0xbba688fbdb21ad2bb58bc320638b43d94e7d100f6f3ebaab0a4e4de6304b1c2e",  # GnosisSafe 1.3.0
        "0x21842597390c4c6e3c1239e434a682b054bd9548eee5e9b1d6a4482731023c0f",  # GnosisSafeL2 1.3.0
        "0x1fe2df852ba3299d6534ef416eefa406e56ced995bca886ab7a553e6d0c5e1c4",  # Safe 1.4.1
        "0xb1f926978a0f44a2c0ec8fe822418ae969bd8c3f18d61e5103100339894f81ff",  # SafeL2 1.4.1
        "0xdda019cbd7c867a533a2a86e5c53434fdc50b13122b5a5ddb4a8df61b31c20f2",  # Safe 1.5.0
        "0x180193227186ccb85316c94db1f0d156ed932b14712cfaac78901899178572dc",  # SafeL2 1.5.0
    }
)

# The ERC1967Proxy that SimpleAccountFactory deploys. Packages: @account-abstraction/contracts.
_SIMPLE_PROXIES = frozenset(
    {
        "0x0acbd632c56f6f227951f6c832b36177319145deddb8df3a12c3bcc91fbf49b3",  # 0.6.0
        "0x0cf33e42b59cd30ce43a3d95a9c4de2589047c5e0968708337764f9776097210",  # 0.7.0
        "0x41ee894da413cc99e8dec0a1784470eceb736845ad1591e06ff0ecdf0aca26c9",  # 0.8.0, 0.9.0
    }
)


@dataclass(frozen=True)
class _Template:
    """Code that contains two addresses.

    The account's own address is at the offsets `own`, its EntryPoint's at the offsets `entry_point`.
    """

    own: tuple[int, ...]
    entry_point: tuple[int, ...]
    ways: frozenset[bytes]


# The SimpleAccounts that SimpleAccountFactory deploys, by the hash of their code. Zeros replace the two addresses.
_SIMPLE_ACCOUNTS: Mapping[str, _Template] = {
    # 0.6.0
    "0x16b853660bff2f70762045a374962e98f85d5b1afa6641c8b1b038968a91e85f": _Template(
        (1655, 1831, 2552, 2728, 3057),
        (827, 2189, 2356, 3416, 4009, 4080, 4930, 5633),
        frozenset({EXECUTE, BATCH_OF_TWO_ARRAYS}),
    ),
    # 0.7.0
    "0xf2f46832e632c56f36aac550a60db6c38d1703708d471a86b05597441e5c2280": _Template(
        (3903, 3944, 4489),
        (812, 1788, 1962, 2354, 2927, 2998, 3446, 4650),
        frozenset({EXECUTE, BATCH_OF_THREE_ARRAYS}),
    ),
    # 0.8.0
    "0x66afc1526ea3b7fb7d2f298cdc604b4169293fb9399dce9d07842d5d928584d8": _Template(
        (2256, 2500),
        (508, 947, 1442, 1938, 3329, 3542, 4146, 5407),
        frozenset({EXECUTE, BATCH_OF_STRUCTS}),
    ),
    # 0.9.0
    "0xde7f48b1b9203258922919b7881d8d56d0dc95d947b4f17d4c68cda732d4d13a": _Template(
        (2256, 2500),
        (508, 947, 1442, 1938, 3329, 3542, 4146, 5366),
        frozenset({EXECUTE, BATCH_OF_STRUCTS}),
    ),
}

_SIMPLE_7702 = frozenset({EXECUTE, BATCH_OF_STRUCTS})
# The known delegates accept calls only from the account itself or from the EntryPoint. Sources: the CREATE2 address of
# the bytecode in @account-abstraction/contracts 0.8.0; viem's account for EntryPoint v0.9;
# @metamask/delegation-deployments 2.0.0 with the source in MetaMask/delegation-framework.
_DELEGATES: Mapping[str, frozenset[bytes]] = {
    "0xe6Cae83BdE06E4c305530e199D7217f42808555B": _SIMPLE_7702,  # Simple7702Account 0.8.0
    "0xa46cc63eBF4Bd77888AA327837d20b23A63a56B5": _SIMPLE_7702,  # Simple7702Account 0.9.0
    # EIP7702StatelessDeleGator 1.3.0
    "0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B": frozenset({EXECUTE_STRUCT, EXECUTE_BY_MODE}),
}
_DESIGNATOR = bytes.fromhex("ef0100")  # EIP-7702
_ADDRESS_BYTES = 20


def code_hash(code: bytes) -> str:
    return "0x" + keccak(code).hex()


def is_safe_proxy(code: bytes) -> bool:
    return code_hash(code) in _SAFE_PROXIES


def is_simple_proxy(code: bytes) -> bool:
    return code_hash(code) in _SIMPLE_PROXIES


def is_listed(code: bytes) -> bool:
    """Whether the code is a listed proxy or a listed EIP-7702 delegation."""
    return is_safe_proxy(code) or is_simple_proxy(code) or bool(ways_of_delegate(code))


def ways_of_delegate(code: bytes) -> frozenset[bytes]:
    """Return the selectors of the functions that execute calls, for this EIP-7702 delegation; none for other code."""
    if len(code) != len(_DESIGNATOR) + _ADDRESS_BYTES or not code.startswith(_DESIGNATOR):
        return frozenset()
    return _DELEGATES.get(to_checksum_address(code[len(_DESIGNATOR) :]), frozenset())


def ways_of_implementation(address: str, code: bytes) -> frozenset[bytes]:
    """Return the selectors of the functions that execute calls, for a proxy of this implementation; none for unknown
    code.
    """
    if code_hash(code) in _SAFES:
        return frozenset({EXEC_TRANSACTION})
    return next(
        (
            template.ways
            for known, template in _SIMPLE_ACCOUNTS.items()
            if _is_from(template, known, code, bytes.fromhex(address[2:]))
        ),
        frozenset(),
    )


def _is_from(template: _Template, known: str, code: bytes, address: bytes) -> bool:
    """Whether `code` is the template, filled with this address and that of a canonical EntryPoint."""
    if len(code) < max(template.own + template.entry_point) + _ADDRESS_BYTES:
        return False
    blank = bytearray(code)
    for place in template.own + template.entry_point:
        blank[place : place + _ADDRESS_BYTES] = bytes(_ADDRESS_BYTES)
    own = {code[place : place + _ADDRESS_BYTES] for place in template.own}
    entry_points = {code[place : place + _ADDRESS_BYTES] for place in template.entry_point}
    return (
        own == {address}
        and len(entry_points) == 1
        and to_checksum_address(next(iter(entry_points))) in ENTRY_POINTS
        and code_hash(bytes(blank)) == known
    )
