"""Samples of other tools' files, written by our own code in the shapes that their writers have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def write_lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def image(page: int | None = None) -> Record:
    """A page image in OpenAI's form; the pixels do not matter."""
    part: Record = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    return part if page is None else {**part, "page": page}


def words(text: str) -> Record:
    return {"type": "text", "text": text}


def call(name: str, identifier: str = "c1", **arguments: Any) -> Record:
    return {
        "id": identifier,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def chat_row(**changes: Any) -> Record:
    """A conversation with tool calls: a search that shows pages 3 and 5, a note, an answer."""
    return {
        "question_id": "q-1",
        "doc_id": "report_0.pdf",
        "question": "How many stations has Oslo?",
        "answer": "17",
        "evidence_pages": [3],
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "Answer from the document."},
            {"role": "user", "content": "How many stations has Oslo?"},
            {
                "role": "assistant",
                "content": "I search first.",
                "tool_calls": [call("search", query="Oslo stations")],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "Two pages follow."},
            {
                "role": "user",
                "content": [words("Page 3:"), image(), words("Page 5 (printed number v):"), image()],
            },
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [call("note", text="Oslo has 17 stations.", source_page=3)],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "Noted."},
            {"role": "assistant", "content": None, "tool_calls": [call("answer", text="17")]},
        ],
        **changes,
    }


def tagged_row(**changes: Any) -> Record:
    """The same conversation in tags, as ALDEN writes actions; no note."""
    return {
        "id": "q-2",
        "doc_id": "report_1.pdf",
        "messages": [
            {"role": "user", "content": "How many stations has Rome?"},
            {"role": "assistant", "content": "<think>Look.</think> <search>Rome stations</search>"},
            {"role": "user", "content": [words("<result>2-th page: "), image(), words("</result>")]},
            {"role": "assistant", "content": "<think>Next one.</think><fetch>4-th</fetch>"},
            {"role": "user", "content": [words("<result>4-th page: "), image(), words("</result>")]},
            {"role": "assistant", "content": "<think>Done.</think><answer>It is \\boxed{29}</answer>"},
        ],
        **changes,
    }


def madqa_row(**changes: Any) -> Record:
    """A line of MADQA's BM25 agent (OxRML/MADQA @ 978fa76): two searches, then a parsed answer."""

    def results(*pages: int, file: str = "report_0.pdf") -> list[Record]:
        return [{"file": file, "page": page} for page in pages]

    return {
        "question": "How many stations has Oslo?",
        "answer": ["17"],
        "citations": [{"file": "report_0.pdf", "page": 3}],
        "iterations": 3,
        "search_history": [
            {"iteration": 1, "query": "Oslo", "num_results": 2},
            {"iteration": 2, "query": "Oslo stations", "num_results": 1},
        ],
        "trajectory": [
            {
                "iteration": 1,
                "role": "assistant",
                "finish_reason": "tool_calls",
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
                "content": None,
                "tool_calls": [{"id": "a", "name": "search_documents", "arguments": {"query": "Oslo"}}],
                "thinking": "Try the name.",
                "tool_results": [
                    {
                        "tool_call_id": "a",
                        "name": "search_documents",
                        "query": "Oslo",
                        "results": results(1, 2),
                    }
                ],
            },
            {
                "iteration": 2,
                "role": "assistant",
                "finish_reason": "tool_calls",
                "usage": {"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220},
                "content": "More.",
                "tool_calls": [
                    {"id": "b", "name": "search_documents", "arguments": {"query": "Oslo stations"}}
                ],
                "tool_results": [
                    {
                        "tool_call_id": "b",
                        "name": "search_documents",
                        "query": "Oslo stations",
                        "results": results(3),
                    }
                ],
            },
            {
                "iteration": 3,
                "role": "assistant",
                "finish_reason": "stop",
                "usage": None,
                "content": "{}",
                "parsed_answer": {"answer": ["17"], "citations": [{"file": "report_0.pdf", "page": 3}]},
            },
        ],
        "model": "some-model",
        "id": "madqa-7",
        **changes,
    }


def mdocagent_row(**changes: Any) -> Record:
    """A sample with MDocAgent's retrieval and prediction (aiming-lab/MDocAgent @ df34e4c); pages count from 0."""
    return {
        "doc_id": "report_0.pdf",
        "doc_type": "Report",
        "question": "How many stations has Oslo?",
        "answer": "17",
        "evidence_pages": "[3]",
        "evidence_sources": "['Table']",
        "answer_format": "Int",
        "text-top-10-question": [2, 0, 1],
        "text-top-10-question_score": [9.5, 3.0, 1.0],
        "image-top-10-question": [1, 2],
        "image-top-10-question_score": [11.0, 10.0],
        "ans_mmlb-MDA": "Oslo has 17 stations.",
        "binary_correctness": 1,
        **changes,
    }


def simpledoc_chat(**changes: Any) -> Record:
    """A result of `run_simpledoc_chat.py` (ag2ai/SimpleDoc @ d31a960)."""
    sample = {
        "doc_id": "report_0.pdf",
        "question": "How many stations has Oslo?",
        "answer": "17",
        "evidence_pages": "[3]",
        "answer_format": "Int",
    }
    return {
        "input": sample,
        "final_answer": "17 stations",
        "relevant_pages": [3, 1],
        "document_summary": "About railways.",
        **changes,
    }


def simpledoc_pipeline(**changes: Any) -> Record:
    """A result of `run_simpledoc_pipeline.py` (ag2ai/SimpleDoc @ 05d71fa): a second round after a better query."""
    return {
        "doc_id": "report_0.pdf",
        "original_question": "How many stations has Oslo?",
        "iterations": [
            {
                "iteration": 1,
                "query": "How many stations has Oslo?",
                "retrieval_response": "…",
                "pages": [1, 2],
                "document_summary": "About railways.",
                "qa_response": "<query_update>Oslo table</query_update>",
                "answer": "Oslo table",
                "notes": "Not on pages 1 and 2.",
                "response_type": "query_update",
                "is_over_long_page": False,
            },
            {
                "iteration": 2,
                "query": "Oslo table",
                "retrieval_response": "…",
                "pages": [3],
                "document_summary": "About railways.",
                "qa_response": "<answer>17</answer>",
                "answer": "17",
                "notes": "Not on pages 1 and 2.",
                "response_type": "answer",
                "is_over_long_page": False,
            },
        ],
        "final_answer": "17",
        "final_response_type": "answer",
        "is_over_long_page": False,
        **changes,
    }


def simpledoc_page_qa(**changes: Any) -> Record:
    """A line of `step03_target_page_qa.py` (ag2ai/SimpleDoc @ d31a960)."""
    return {
        "processed_response": "17",
        "response_type": "answer",
        "doc_id": "report_0.pdf",
        "question": "How many stations has Oslo?",
        "evidence_pages": [3, 4],
        "ori_response": "<answer>17</answer>",
        "page_source": "retrieval",
        "error": None,
        "idx": 0,
        **changes,
    }


ALDEN_RESPONSE = (
    "<think>Look.</think> <search>Oslo stations</search>\nuser\n<result>3-th page: 1-th page: 2-th page: </result>\n"
    "assistant\n<think>The next page.</think> <fetch>4-th</fetch>\nuser\n<result></result>\nassistant\n"
    "<think>Found.</think> <answer>It is \\boxed{17}</answer>"
)


def write_alden(folder: Path) -> Path:
    """The three files of ALDEN's generation (gipplab/ALDEN @ 8a0d3d4) for two rows."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "doc_id": "report_0.pdf",
            "doc_length": 4,
            "question": "How many stations has Oslo?",
            "answer": "17",
            "answer_page_idx": ["2"],
            "responses": [ALDEN_RESPONSE],
            "extracted_answer": ["17"],
            "ans_ravqa_val": "17",
        },
        {
            "doc_id": "report_1.pdf",
            "doc_length": 4,
            "question": "How many stations has Atlantis?",
            "answer": "The problem is not answerable",
            "answer_page_idx": [],
            "responses": ["<think>I give up"],
            "extracted_answer": ["NULL"],
            "ans_ravqa_val": "NULL",
        },
    ]
    write_json(folder / "val.json", rows)
    pages = [
        [{"N.O": {"0": ["2", "0", "1", "3", "7"], "1": ["3"]}}],
        [{"N.O": {"-1": ["0"]}}],
    ]
    write_json(folder / "retrieved_page_lst.json", pages)
    write_json(folder / "token_consumption.json", [[812], [40]])
    return folder


def write_vagen(root: Path) -> Path:
    """Folders of VAGEN's evaluation (mll-lab-nu/VAGEN @ 2936322): one that answered, one that a provider failed."""
    done = root / "tag_0" / "20260101-abc"
    done.mkdir(parents=True)
    placeholder = {"type": "image_url", "image_url": {"url": "<data_url>"}}
    write_json(
        done / "messages.json",
        [
            {"role": "system", "content": [words("You read documents.")]},
            {"role": "user", "content": [words("How many stations has Oslo?")]},
            {"role": "assistant", "content": "<think>Look.</think><search>Oslo</search>"},
            {"role": "user", "content": [words("Page 3:"), placeholder]},
            {"role": "assistant", "content": "<think>There.</think><answer>17</answer>"},
            {"role": "user", "content": [words("The episode is over.")]},
        ],
    )
    write_json(done / "assistant_texts.json", ["…", "…"])
    metrics = {
        "rollout_id": "20260101-abc",
        "seed": 5,
        "terminated": True,
        "finish_reason": "done",
        "success": True,
        "cumulative_reward": 1.0,
        "rewards": [0.0, 1.0],
        "num_turns": 2,
        "infos": [{}, {"doc_id": "report_0.pdf", "answer": "17"}],
        "env_config": {"question_id": "q-1"},
        "max_turns": 4,
    }
    write_json(done / "metrics.json", metrics)
    failed = root / "tag_0" / "20260101-def"
    failed.mkdir()
    write_json(
        failed / "messages.json", [{"role": "user", "content": [words("How many stations has Rome?")]}]
    )
    details = {"error_type": "APITimeoutError", "message": "timed out"}
    write_json(failed / "metrics.json", {**metrics, "finish_reason": "model_error", "error_details": details})
    return root


def vagen_generation() -> Record:
    """A line of VAGEN's training dump: decoded text with the chat markers of its model."""
    return {
        "input": "<|im_start|>system\nYou read documents.<|im_end|>\n<|im_start|>user\nHow many stations has Oslo?"
        "<|im_end|>\n<|im_start|>assistant\n",
        "output": "<think>Look.</think><search>Oslo</search><|im_end|>\n<|im_start|>user\nPage 3: <|vision_start|>"
        "<|image_pad|><|vision_end|><|im_end|>\n<|im_start|>assistant\n<think>There.</think><answer>17</answer>"
        "<|im_end|>",
        "gts": "17",
        "score": 1.0,
        "step": 10,
    }


def verifiers_result(**changes: Any) -> Record:
    """A line of results.jsonl (PrimeIntellect-ai/verifiers @ a60a606, state_to_output)."""
    return {
        "example_id": 4,
        "prompt": [{"role": "user", "content": "How many stations has Oslo?"}],
        "completion": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [json.dumps({"id": "c1", "name": "search", "arguments": '{"query": "Oslo"}'})],
            },
            {"role": "tool", "tool_call_id": "c1", "content": [words("Page 3:"), image()]},
            {"role": "assistant", "content": "Oslo has 17 stations."},
        ],
        "answer": "17",
        "info": {"doc_id": "report_0.pdf", "evidence_pages": [3]},
        "reward": 1.0,
        "error": None,
        "timing": {},
        "is_completed": True,
        "is_truncated": False,
        "stop_condition": "no_tools_called",
        "metrics": {},
        "tool_defs": None,
        "token_usage": {"input_tokens": 310.0, "output_tokens": 25.0},
        **changes,
    }


def verifiers_episode(**changes: Any) -> Record:
    """A line of traces.jsonl (version 1): a draft branch, the path that was sampled last, and a judge's trace."""
    data = {"idx": 4, "prompt": "How many stations has Oslo?", "doc_id": "report_0.pdf", "answer": "17"}
    task = {"type": "DocTask", "data": data}
    nodes = [
        {"message": {"role": "user", "content": "How many stations has Oslo?"}, "sampled": False},
        {"parent": 0, "message": {"role": "assistant", "content": "<answer>draft</answer>"}, "sampled": True},
        {
            "parent": 0,
            "message": {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "name": "fetch", "arguments": '{"page": 3}'}],
            },
            "sampled": True,
        },
        {
            "parent": 2,
            "message": {"role": "tool", "tool_call_id": "c1", "content": [words("Page 3:"), image()]},
            "sampled": False,
        },
        {"parent": 3, "message": {"role": "assistant", "content": "<answer>17</answer>"}, "sampled": True},
    ]
    trace = {
        "version": 1,
        "id": "t1",
        "task": task,
        "agent": {"name": "solver", "trainable": True},
        "nodes": nodes,
        "calls": [{"model": "some-model", "usage": {"prompt_tokens": 50, "completion_tokens": 5}}],
        "is_completed": True,
        "ok": True,
        "stop_condition": "agent_completed",
        "errors": [],
    }
    judge = {**trace, "id": "t2", "agent": {"name": "judge", "trainable": False}}
    return {"id": "e1", "env": {"id": "docs"}, "task": task, "ok": True, "traces": [trace, judge], **changes}
