// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;


/// Moves tokens that return true, and tokens that return nothing.
library Moves {
    error MoveFailed(address token);

    function pull(address token, address from, uint256 amount) internal {
        _call(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", from, address(this), amount));
    }

    /// The zero address means the chain's coin.
    function push(address token, address to, uint256 amount) internal {
        if (token == address(0)) {
            (bool done, ) = to.call{value: amount}("");
            if (!done) revert MoveFailed(token);
        } else {
            _call(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
        }
    }

    function _call(address token, bytes memory data) private {
        (bool done, bytes memory answer) = token.call(data);
        if (!done || token.code.length == 0 || (answer.length != 0 && !abi.decode(answer, (bool)))) {
            revert MoveFailed(token);
        }
    }
}

/// In the local world, this contract replaces a routing provider's contract. It has the functions of LI.FI's contract.
/// The functions for bridges, including the packed ones, take the customer's money, and log the id of the quote for the
/// executor. Swaps on one chain pay from this contract's own tokens. The caller sets the rate, so use this contract
/// only on local chains.
contract LocalRouter {
    struct BridgeData {
        bytes32 transactionId;
        string bridge;
        string integrator;
        address referrer;
        address sendingAssetId;
        address receiver;
        uint256 minAmount;
        uint256 destinationChainId;
        bool hasSourceSwaps;
        bool hasDestinationCall;
    }

    struct RelayData {
        bytes32 requestId;
        bytes32 nonEVMReceiver;
        bytes32 receivingAssetId;
        bytes signature;
    }

    struct SwapData {
        address callTo;
        address approveTo;
        address sendingAssetId;
        address receivingAssetId;
        uint256 fromAmount;
        bytes callData;
        bool requiresDeposit;
    }

    event LiFiTransferStarted(BridgeData bridgeData);
    event BridgeToNonEVMChainBytes32(
        bytes32 indexed transactionId, uint256 indexed destinationChainId, bytes32 receiver
    );
    event LiFiAcrossTransfer(bytes8 transactionId);
    event LiFiGenericSwapCompleted(
        bytes32 indexed transactionId,
        string integrator,
        string referrer,
        address receiver,
        address fromAssetId,
        address toAssetId,
        uint256 fromAmount,
        uint256 toAmount
    );

    error InformationMismatch();
    error InvalidAmount();
    error NativeAssetTransferFailed();
    error CumulativeSlippageTooHigh(uint256 minAmount, uint256 receivedAmount);

    address internal constant NOT_EVM = 0x11f111f111f111F111f111f111F111f111f111F1;

    receive() external payable {}

    /// Takes `minAmount` of the token. Other native coin in the call is the bridge's fee.
    function startBridgeTokensViaRelay(BridgeData calldata bridgeData, RelayData calldata relayData)
        external
        payable
    {
        if (bridgeData.hasSourceSwaps) revert InformationMismatch();
        if (bridgeData.minAmount == 0) revert InvalidAmount();
        _take(bridgeData.sendingAssetId, bridgeData.minAmount);
        if (bridgeData.receiver == NOT_EVM) {
            emit BridgeToNonEVMChainBytes32(
                bridgeData.transactionId, bridgeData.destinationChainId, relayData.nonEVMReceiver
            );
        }
        emit LiFiTransferStarted(bridgeData);
    }

    /// The call data: [4:12] the id's first 8 bytes, [12:32] receiver, [32:52] depositor, [52:56] destination chain,
    /// [56:76] arriving token, [76:108] arriving amount.
    function startBridgeTokensViaAcrossV3NativePacked() external payable {
        if (msg.value == 0) revert InvalidAmount();
        emit LiFiAcrossTransfer(bytes8(msg.data[4:12]));
    }

    /// The call data: [4:12] the id's first 8 bytes, [12:32] receiver, [32:52] depositor, [52:72] token, [72:88]
    /// amount, [88:92] destination chain, [92:112] arriving token, [112:144] arriving amount.
    function startBridgeTokensViaAcrossV3ERC20Packed() external payable {
        Moves.pull(address(bytes20(msg.data[52:72])), msg.sender, uint128(bytes16(msg.data[72:88])));
        emit LiFiAcrossTransfer(bytes8(msg.data[4:12]));
    }

    function swapTokensSingleV3ERC20ToERC20(
        bytes32 transactionId,
        string calldata integrator,
        string calldata referrer,
        address payable receiver,
        uint256 minAmountOut,
        SwapData calldata swapData
    ) external {
        _swap(transactionId, integrator, referrer, receiver, minAmountOut, swapData);
    }

    function swapTokensSingleV3ERC20ToNative(
        bytes32 transactionId,
        string calldata integrator,
        string calldata referrer,
        address payable receiver,
        uint256 minAmountOut,
        SwapData calldata swapData
    ) external {
        _swap(transactionId, integrator, referrer, receiver, minAmountOut, swapData);
    }

    function swapTokensSingleV3NativeToERC20(
        bytes32 transactionId,
        string calldata integrator,
        string calldata referrer,
        address payable receiver,
        uint256 minAmountOut,
        SwapData calldata swapData
    ) external payable {
        _swap(transactionId, integrator, referrer, receiver, minAmountOut, swapData);
    }

    /// `swapData.callData` contains the amount that the exchange pays. In a real contract, it would contain the call of
    /// the exchange.
    function _swap(
        bytes32 transactionId,
        string calldata integrator,
        string calldata referrer,
        address receiver,
        uint256 minAmountOut,
        SwapData calldata swapData
    ) internal {
        uint256 given = abi.decode(swapData.callData, (uint256));
        if (given < minAmountOut) revert CumulativeSlippageTooHigh(minAmountOut, given);
        _take(swapData.sendingAssetId, swapData.fromAmount);
        Moves.push(swapData.receivingAssetId, receiver, given);
        emit LiFiGenericSwapCompleted(
            transactionId,
            integrator,
            referrer,
            receiver,
            swapData.sendingAssetId,
            swapData.receivingAssetId,
            swapData.fromAmount,
            given
        );
    }

    function _take(address token, uint256 amount) internal {
        if (token != address(0)) Moves.pull(token, msg.sender, amount);
        else if (msg.value < amount) revert NativeAssetTransferFailed();
    }
}

/// Holds the executor's money, and pays it out by internal calls, as contracts of relayers do. The transaction itself
/// has no value.
contract LocalExecutor {
    struct Move {
        bytes32 transactionId;
        address token;
        address receiver;
        uint256 amount;
    }

    event LiFiTransferCompleted(
        bytes32 indexed transactionId, address receivingAssetId, address receiver, uint256 amount, uint256 timestamp
    );

    address public immutable owner = msg.sender;

    receive() external payable {}

    /// Make several deliveries in one transaction: all or none.
    function deliver(Move[] calldata moves) external {
        require(msg.sender == owner);
        for (uint256 i = 0; i < moves.length; i++) {
            Move calldata move = moves[i];
            Moves.push(move.token, move.receiver, move.amount);
            emit LiFiTransferCompleted(
                move.transactionId, move.token, move.receiver, move.amount, block.timestamp
            );
        }
    }
}
