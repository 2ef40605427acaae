// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// The demo wallet's account delegates to this code (EIP-7702). With it, the account executes several calls at once.
/// Only the account itself may call it, and only its key may sign.
contract DemoAccount {
    struct Call {
        address target;
        uint256 value;
        bytes data;
    }

    error NotTheAccount();

    /// The result of ERC-1271 for a valid signature.
    bytes4 internal constant VALID = 0x1626ba7e;
    /// Half the order of secp256k1. Each signature has a second form that is also valid. Only the form with the lower
    /// value is accepted.
    uint256 internal constant MOST_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    receive() external payable {}

    /// Make all calls in order, or none. If a call fails, all are reverted, with the reason of that call.
    function executeBatch(Call[] calldata calls) external payable {
        if (msg.sender != address(this)) revert NotTheAccount();
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, bytes memory answer) = calls[i].target.call{value: calls[i].value}(calls[i].data);
            if (!done) {
                assembly {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }

    /// Tokens call this function to check a signature of an account with code.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        bool isOwn = uint256(s) <= MOST_S && ecrecover(hash, v, r, s) == address(this);
        return isOwn ? VALID : bytes4(0xffffffff);
    }
}
