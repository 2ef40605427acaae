// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// The layout of ERC-4337, version 0.7 and later.
struct PackedUserOperation {
    address sender;
    uint256 nonce;
    bytes initCode;
    bytes callData;
    bytes32 accountGasLimits;
    uint256 preVerificationGas;
    bytes32 gasFees;
    bytes paymasterAndData;
    bytes signature;
}

/// An EntryPoint without deposits and gas accounting. It first validates all operations of a bundle, and then executes
/// them one by one. If an operation fails, only the effects of this operation are reverted.
contract EntryPointLike {
    event UserOperationEvent(
        bytes32 indexed userOpHash,
        address indexed sender,
        address indexed paymaster,
        uint256 nonce,
        bool success,
        uint256 actualGasCost,
        uint256 actualGasUsed
    );
    event BeforeExecution();

    function handleOps(PackedUserOperation[] calldata ops, address payable) external {
        for (uint256 i = 0; i < ops.length; i++) {
            require(AccountLike(payable(ops[i].sender)).validateUserOp(ops[i], getUserOpHash(ops[i]), 0) == 0, "AA24");
        }
        emit BeforeExecution();
        for (uint256 i = 0; i < ops.length; i++) {
            bool success;
            try this.innerHandleOp(ops[i].callData, ops[i].sender) {
                success = true;
            } catch {}
            emit UserOperationEvent(
                getUserOpHash(ops[i]), ops[i].sender, address(0), ops[i].nonce, success, 0, 0
            );
        }
    }

    function innerHandleOp(bytes calldata callData, address sender) external {
        require(msg.sender == address(this), "AA92");
        (bool done, ) = sender.call(callData);
        require(done);
    }

    function getUserOpHash(PackedUserOperation calldata op) public view returns (bytes32) {
        bytes32 hash = keccak256(
            abi.encode(
                op.sender,
                op.nonce,
                keccak256(op.initCode),
                keccak256(op.callData),
                op.accountGasLimits,
                op.preVerificationGas,
                op.gasFees,
                keccak256(op.paymasterAndData)
            )
        );
        return keccak256(abi.encode(hash, address(this), block.chainid));
    }
}

/// An account with one owner, which executes calls from an EntryPoint.
contract AccountLike {
    struct Call {
        address target;
        uint256 value;
        bytes data;
    }

    address public immutable owner;
    address public immutable entryPoint;
    uint256 public nonce;

    constructor(address owner_, address entryPoint_) {
        owner = owner_;
        entryPoint = entryPoint_;
    }

    receive() external payable {}

    function validateUserOp(PackedUserOperation calldata op, bytes32 userOpHash, uint256)
        external
        returns (uint256)
    {
        require(msg.sender == entryPoint && op.nonce == nonce++);
        bytes calldata signature = op.signature;
        bytes32 signed = keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", userOpHash));
        address by = ecrecover(
            signed, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64])
        );
        return by == owner ? 0 : 1;
    }

    function execute(address target, uint256 value, bytes calldata data) external {
        require(msg.sender == entryPoint);
        _call(target, value, data);
    }

    function executeBatch(Call[] calldata calls) external {
        require(msg.sender == entryPoint);
        for (uint256 i = 0; i < calls.length; i++) _call(calls[i].target, calls[i].value, calls[i].data);
    }

    function _call(address target, uint256 value, bytes calldata data) internal {
        (bool done, ) = target.call{value: value}(data);
        require(done);
    }
}

/// Forwards the bundle in `genuine` to an EntryPoint. But it emits an EntryPoint's events for the operations in `ops`.
contract EntryPointWrapper {
    address public immutable entryPoint;
    bytes internal genuine;

    event UserOperationEvent(
        bytes32 indexed userOpHash,
        address indexed sender,
        address indexed paymaster,
        uint256 nonce,
        bool success,
        uint256 actualGasCost,
        uint256 actualGasUsed
    );

    constructor(address entryPoint_) {
        entryPoint = entryPoint_;
    }

    /// Executes the operations in `genuine` instead of those in `ops`.
    function handleOps(PackedUserOperation[] calldata ops, address payable) external {
        (bool done, ) = entryPoint.call(genuine);
        require(done);
        for (uint256 i = 0; i < ops.length; i++) {
            emit UserOperationEvent(0, ops[i].sender, address(0), ops[i].nonce, true, 0, 0);
        }
    }

    function load(bytes calldata bundle) external {
        genuine = bundle;
    }
}
