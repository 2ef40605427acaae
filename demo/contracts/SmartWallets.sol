// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A wallet with one owner that works like a Safe. The wallet has a Safe's call and events, and also ignores bytes
/// after the signed data. Like a Safe, it is used behind a proxy.
contract SafeLike {
    address internal singleton; // where the proxy keeps the address of this code
    address public owner;
    uint256 public nonce;

    event ExecutionSuccess(bytes32 indexed txHash, uint256 payment);
    event ExecutionFailure(bytes32 indexed txHash, uint256 payment);

    error NotSigned();
    error CallFailed();

    receive() external payable {}

    function setup(address owner_) external {
        require(owner == address(0));
        owner = owner_;
    }

    /// As in a Safe, a failing call reverts everything, unless the signer has set `safeTxGas`.
    function execTransaction(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation,
        uint256 safeTxGas,
        uint256,
        uint256,
        address,
        address payable,
        bytes memory signatures
    ) external payable returns (bool success) {
        bytes32 hash = transactionHash(to, value, data, operation, safeTxGas, nonce++);
        if (signer(hash, signatures) != owner) revert NotSigned();
        (success, ) = operation == 1 ? to.delegatecall(data) : to.call{value: value}(data);
        if (!success && safeTxGas == 0) revert CallFailed();
        if (success) emit ExecutionSuccess(hash, 0);
        else emit ExecutionFailure(hash, 0);
    }

    function transactionHash(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation,
        uint256 safeTxGas,
        uint256 nonce_
    ) public view returns (bytes32) {
        return keccak256(
            abi.encode(block.chainid, address(this), to, value, keccak256(data), operation, safeTxGas, nonce_)
        );
    }

    /// EIP-1271: whether the owner signed the digest.
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        return signer(digest, signature) == owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    /// Read the signature from the first 65 bytes, and ignore the other bytes.
    function signer(bytes32 hash, bytes memory signatures) internal pure returns (address) {
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(signatures, 0x20))
            s := mload(add(signatures, 0x40))
            v := byte(0, mload(add(signatures, 0x60)))
        }
        return ecrecover(hash, v, r, s);
    }
}

/// Hands every call to the code at `singleton`.
contract SafeProxy {
    address internal singleton;

    constructor(address singleton_, address owner) {
        singleton = singleton_;
        (bool done, ) = singleton_.delegatecall(abi.encodeCall(SafeLike.setup, (owner)));
        require(done);
    }

    fallback() external payable {
        assembly {
            calldatacopy(0, 0, calldatasize())
            let done := delegatecall(gas(), sload(0), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(done) {
                revert(0, returndatasize())
            }
            return(0, returndatasize())
        }
    }
}

/// Makes several calls for a wallet that delegates to this contract. Each call is packed: operation, address, value,
/// length and data.
contract MultiSend {
    function multiSend(bytes memory transactions) external payable {
        uint256 offset = 0;
        while (offset < transactions.length) {
            uint8 operation;
            address to;
            uint256 value;
            uint256 length;
            bool done;
            assembly {
                let item := add(add(transactions, 0x20), offset)
                operation := byte(0, mload(item))
                to := shr(96, mload(add(item, 1)))
                value := mload(add(item, 21))
                length := mload(add(item, 53))
                switch operation
                case 0 {
                    done := call(gas(), to, value, add(item, 85), length, 0, 0)
                }
                default {
                    done := delegatecall(gas(), to, add(item, 85), length, 0, 0)
                }
            }
            require(done);
            offset += 85 + length;
        }
    }
}
