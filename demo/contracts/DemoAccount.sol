// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// The code that the demo wallet's account delegates to (EIP-7702), so that it executes several calls at once. Only the
/// account itself may have it run, and its own key signs for it.
contract DemoAccount {
    struct Call {
        address target;
        uint256 value;
        bytes data;
    }

    error NotTheAccount();

    /// ERC-1271's answer for a valid signature.
    bytes4 internal constant VALID = 0x1626ba7e;
    /// Half the order of secp256k1: of the two signatures with one meaning, only the lower is taken.
    uint256 internal constant MOST_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    receive() external payable {}

    /// Make all calls in order, or none: the first that fails reverts the others, with its own reason.
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

    /// Tokens ask an account with code whether a signature is its own.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        bool isOwn = uint256(s) <= MOST_S && ecrecover(hash, v, r, s) == address(this);
        return isOwn ? VALID : bytes4(0xffffffff);
    }
}
